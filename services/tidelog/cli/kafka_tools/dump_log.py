"""`tidelog kafka-dump-log`, also known as kafka.tools.DumpLogSegments."""

from pathlib import Path

from tidelog.broker.log.dump.options import MAX_MESSAGE_SIZE
from tidelog.cli.kafka_tools.dialect import Flags, needed
from tidelog.cli.log import dump

_EXAMPLES = ("--files data/test-0/00000000000000000000.log --print-data-log",)


def parser() -> Flags:
    flags = Flags("kafka-dump-log", "Print what is in the files of a log.", _EXAMPLES)
    flags.values("files")
    flags.flags("print-data-log", "deep-iteration", "verify-index-only", "index-sanity-check")
    flags.flags("offsets-decoder", "transaction-log-decoder", "skip-record-metadata")
    flags.numbers(max_message_size=MAX_MESSAGE_SIZE)
    flags.ignored("key-decoder-class", "value-decoder-class", "max-bytes")
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    needed(flags, given.files, "files")
    dump(
        files=[Path(each) for each in given.files.split(",") if each],
        print_data_log=given.print_data_log,
        deep_iteration=given.deep_iteration,
        verify_index_only=given.verify_index_only,
        index_sanity_check=given.index_sanity_check,
        offsets_decoder=given.offsets_decoder,
        transaction_log_decoder=given.transaction_log_decoder,
        max_message_size=given.max_message_size,
        skip_record_metadata=given.skip_record_metadata,
    )
