"""`tidelog kafka-console-producer`."""

import sys
from argparse import Namespace
from typing import Any

from tidelog.cli.kafka_tools.dialect import Flags, client_settings, needed, run, target_of
from tidelog.cli.parsing import decoded, pairs
from tidelog.cli.record_text import LineFormat
from tidelog.cli.target import Target

_EXAMPLES = (
    "--broker-list localhost:9092 --topic test < lines.txt",
    "--bootstrap-server localhost:9092 --topic test --property parse.key=true --property key.separator=: < pairs.txt",
)


def parser() -> Flags:
    flags = Flags("kafka-console-producer", "Send each line of the standard input as a record.", _EXAMPLES)
    flags.addresses(config="producer.config")
    flags.flags("sync", "old-producer", "new-producer")
    flags.values("topic", "request-required-acks", "reader-config")
    flags.lists("property", "reader-property", "producer-property", "command-property")
    flags.add_argument("--compression-codec", nargs="?", const="gzip", metavar="CODEC")
    flags.numbers(batch_size=None, message_send_max_retries=None, retry_backoff_ms=None, timeout=None)
    flags.numbers(request_timeout_ms=None, metadata_expiry_ms=None, max_block_ms=None, max_memory_bytes=None)
    flags.numbers(max_partition_memory_bytes=None)
    flags.ignored("socket-buffer-size", "line-reader", "key-serializer", "value-serializer", "queue-size")
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    needed(flags, given.topic, "topic")
    form = line_format(
        {
            **client_settings(given.reader_config),
            **pairs(given.property, "--property"),
            **pairs(given.reader_property, "--reader-property"),
        }
    )
    run(_send(target_of(given, settings=_settings(given)), given.topic, form))


def line_format(properties: dict[str, str]) -> LineFormat:
    """The properties of Kafka's LineMessageReader."""

    def text(name: str, default: str) -> str:
        return decoded(properties.get(name, default))

    return LineFormat(
        key_separator=text("key.separator", "\t") if _is_true(properties, "parse.key") else None,
        headers_separator=text("headers.delimiter", "\t") if _is_true(properties, "parse.headers") else None,
        header_separator=text("headers.separator", ","),
        header_key_separator=text("headers.key.separator", ":"),
        null_marker=properties.get("null.marker"),
        ignore_error=_is_true(properties, "ignore.error"),
    )


def _is_true(properties: dict[str, str], name: str) -> bool:
    return properties.get(name, "false").strip().lower() == "true"


_FLAGS = {
    "compression_codec": "compression.type",
    "batch_size": "batch.size",
    "message_send_max_retries": "retries",
    "retry_backoff_ms": "retry.backoff.ms",
    "timeout": "linger.ms",
    "request_timeout_ms": "request.timeout.ms",
    "metadata_expiry_ms": "metadata.max.age.ms",
    "max_block_ms": "max.block.ms",
    "max_memory_bytes": "buffer.memory",
    "max_partition_memory_bytes": "batch.size",
    "request_required_acks": "acks",
}


def _settings(given: Namespace) -> dict[str, str]:
    settings = {setting: str(value) for flag, setting in _FLAGS.items() if (value := getattr(given, flag)) is not None}
    settings |= pairs([*given.producer_property, *given.command_property], "--producer-property")
    if settings.get("acks", "all") not in ("all", "-1") or settings.get("retries") == "0":
        settings.setdefault("enable.idempotence", "false")
    return settings


async def _send(target: Target, topic: str, form: LineFormat) -> None:
    from tidelog.cli.sending import send_lines

    prompt: Any = (lambda _: print(">", end="", flush=True)) if sys.stdin.isatty() else None
    if prompt is not None:
        prompt(None)
    async with target.producer() as producer:
        await send_lines(producer, topic, form, on_sent=prompt)
