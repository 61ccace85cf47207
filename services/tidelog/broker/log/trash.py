"""Files and directories that wait for their deletion: renamed at once, removed later, by a thread."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidelog.broker.log.files import Files


@dataclass(frozen=True, slots=True)
class Removal:
    """Paths that may be removed from a time on. It is plain data: a thread can execute it."""

    due_ms: int
    files: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()

    def run(self, files: "Files") -> None:
        for path in self.files:
            files.unlink_if_there(path)
        for path in self.directories:
            try:
                files.remove_tree(path)
            except FileNotFoundError:
                continue


class Trash:
    """What is to be removed, in the order in which it was thrown away."""

    def __init__(self) -> None:
        self._removals: list[Removal] = []

    def __len__(self) -> int:
        return len(self._removals)

    def add(self, removal: Removal) -> None:
        self._removals.append(removal)

    def take_due(self, now_ms: int) -> "Sequence[Removal]":
        """The removals whose time has come; whoever takes them runs them."""
        due = [removal for removal in self._removals if removal.due_ms <= now_ms]
        self._removals = [removal for removal in self._removals if removal.due_ms > now_ms]
        return due
