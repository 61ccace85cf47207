"""Errors of clients as sentences and exit codes."""

import sys

from tidelog.kafka.errors import KafkaCode, KafkaError

REFUSED = 1
WRONG_USAGE = 2
UNREACHABLE = 3


def sentence_of(error: Exception) -> tuple[str, int] | None:
    """What to tell and how to exit; None if the error is not one that is foreseen."""
    if isinstance(error, KafkaError):
        return f"{error.code.name} ({int(error.code)}): {error.message}", REFUSED
    # If no client was made, none has raised; and importing one only to know would take longer than the command.
    errors = sys.modules.get("tidelog.client.errors")
    if errors is None:
        return None
    if isinstance(error, errors.ConfigError | errors.WrongArgumentError | errors.RecordTooLargeError):
        return str(error), WRONG_USAGE
    if isinstance(error, errors.RequestTimeoutError) and str(error).startswith("topic: "):
        # A client goes on asking for a topic that there is not, since it might be on its way.
        code = KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
        return f"{code.name} ({int(code)}): {str(error).removeprefix('topic: ')}", REFUSED
    if isinstance(error, errors.RequestTimeoutError | errors.DeliveryTimeoutError | errors.BufferFullError):
        return f"The cluster cannot be reached: {error}", UNREACHABLE
    if isinstance(error, errors.ClientError):
        return str(error), REFUSED
    return None
