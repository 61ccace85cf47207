"""Dumps files one after the other, each by its kind, and tells at the end what is wrong with them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tidelog.broker.log.dump.dump_file import DumpFile
from tidelog.broker.log.dump.index_dump import dump_offset_index, dump_time_index
from tidelog.broker.log.dump.log_dump import dump_log
from tidelog.broker.log.dump.options import DumpError, DumpOptions, Output
from tidelog.broker.log.dump.state_dump import dump_snapshot, dump_txn_index
from tidelog.broker.log.names import LOG, OFFSET_INDEX, SNAPSHOT, TIME_INDEX, TXN_INDEX

if TYPE_CHECKING:
    from tidelog.broker.log.files import Files

_DUMPS: Mapping[str, Callable[[DumpFile, DumpOptions, Output], None]] = {
    LOG: dump_log,
    OFFSET_INDEX: dump_offset_index,
    TIME_INDEX: dump_time_index,
    TXN_INDEX: dump_txn_index,
    SNAPSHOT: dump_snapshot,
}


def dump_files(files: "Files", paths: Sequence[tuple[str, str]], options: DumpOptions, out: Output) -> None:
    """Every file, given by its path and its full path. DumpError at the first that cannot be dumped.

    Whether all of them are files of a log is looked at before anything is written.
    """
    found = [DumpFile(files, path, full_path) for path, full_path in paths]
    for file in found:
        _check(file)
    for file in found:
        out.line(f"Dumping {file.path}")
        _DUMPS[file.suffix](file, options, out)
    for line in out.findings.lines():
        out.problem(line)


def _check(file: DumpFile) -> None:
    if not file.exists:
        raise DumpError(f"{file.path} does not exist.")
    stem = file.name.partition(".")[0]
    if file.suffix not in _DUMPS or not (stem.isascii() and stem.isdigit()):
        *most, last = _DUMPS
        raise DumpError(
            f"{file.path} is not a file of a log: those are named by an offset and end in {', '.join(most)} or {last}."
        )
