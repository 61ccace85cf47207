"""One file that is to be dumped, by the offset in its name."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.log.files import Files


class DumpFile(NamedTuple):
    """`path` is as the user gave it; `full_path` is how problems name it."""

    files: "Files"
    path: str
    full_path: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        return "." + self.name.rpartition(".")[2]

    @property
    def base_offset(self) -> int:
        return int(self.name.partition(".")[0])

    @property
    def size(self) -> int:
        return self.files.size(self.path) or 0

    @property
    def exists(self) -> bool:
        return self.files.size(self.path) is not None

    def content(self) -> bytes:
        return self.files.read_file(self.path) or b""

    def sibling(self, suffix: str) -> "DumpFile":
        """The file of the same segment with another suffix."""
        return DumpFile(
            self.files, self.path.removesuffix(self.suffix) + suffix, self.full_path.removesuffix(self.suffix) + suffix
        )
