"""`tidelog log`: looks into the files of a log."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tidelog.broker.log.dump.options import MAX_MESSAGE_SIZE, Decoder, DumpError, DumpOptions, Output
from tidelog.cli.lazily import noun
from tidelog.local.faults import LocalError, WrongUsageError

log = noun("log", "Look into the files of a log.")


@log.command()
def dump(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files that end in .log, .index, .timeindex, .txnindex or .snapshot.", show_default=False),
    ],
    print_data_log: Annotated[bool, typer.Option("--print-data-log", help="Show keys and values of records.")] = False,
    deep_iteration: Annotated[bool, typer.Option("--deep-iteration", help="Show the records of each batch.")] = False,
    verify_index_only: Annotated[
        bool, typer.Option("--verify-index-only", help="Compare an index with the log, and show only what differs.")
    ] = False,
    index_sanity_check: Annotated[
        bool, typer.Option("--index-sanity-check", help="Check an index as a broker does when it starts.")
    ] = False,
    offsets_decoder: Annotated[
        bool, typer.Option("--offsets-decoder", help="Show records of __consumer_offsets.")
    ] = False,
    transaction_log_decoder: Annotated[
        bool, typer.Option("--transaction-log-decoder", help="Show records of __transaction_state.")
    ] = False,
    max_message_size: Annotated[
        int,
        typer.Option("--max-message-size", min=1, metavar="BYTES", help="The largest batch that an index may name."),
    ] = MAX_MESSAGE_SIZE,
    skip_record_metadata: Annotated[
        bool, typer.Option("--skip-record-metadata", help="Show only keys and values of records.")
    ] = False,
) -> None:
    """Print what is in the files of a log, in the lines of Kafka's DumpLogSegments.

    A file is only read: the broker may run. What is wrong with the files is told on the standard error output.

    Examples:

    - `tidelog log dump data/orders-0/00000000000000000000.log --print-data-log`
    - `tidelog log dump data/orders-0/*.index --verify-index-only`
    - `tidelog log dump data/__consumer_offsets-3/*.log --offsets-decoder`
    """
    # They bring checksums and codecs with them, for which no other command should wait.
    from tidelog.broker.log.dump.dumping import dump_files
    from tidelog.broker.log.files import Files

    options = DumpOptions(
        print_data_log=print_data_log,
        deep_iteration=deep_iteration,
        verify_index_only=verify_index_only,
        index_sanity_check=index_sanity_check,
        skip_record_metadata=skip_record_metadata,
        max_message_size=max_message_size,
        decoder=_decoder(offsets=offsets_decoder, transactions=transaction_log_decoder),
    )
    out = Output(line=_to_stdout, problem=lambda line: print(line, file=sys.stderr))
    try:
        dump_files(Files(), [(str(path), str(path.absolute())) for path in files], options, out)
    except DumpError as fault:
        raise LocalError(str(fault)) from None
    except BrokenPipeError:
        raise
    except OSError as fault:
        raise LocalError(f"{fault.filename or 'A file'} cannot be read: {fault.strerror}.") from None


def _to_stdout(line: str) -> None:
    sys.stdout.write(line + "\n")


def _decoder(*, offsets: bool, transactions: bool) -> Decoder:
    if offsets and transactions:
        raise WrongUsageError(
            "Give only one of --offsets-decoder and --transaction-log-decoder: see `tidelog log dump --help`."
        )
    if offsets:
        return Decoder.OFFSETS
    return Decoder.TRANSACTION_LOG if transactions else Decoder.TEXT
