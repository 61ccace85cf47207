"""What a dump is to show, where its lines go, and what it may meet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

MAX_MESSAGE_SIZE = 5 * 1024 * 1024


class DumpError(Exception):
    """A file that cannot be dumped; the message is one sentence for a person."""


class Decoder(Enum):
    """How keys and values are shown."""

    TEXT = "text"
    OFFSETS = "offsets"
    TRANSACTION_LOG = "transaction log"


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The options of the command, under Kafka's names."""

    print_data_log: bool = False
    deep_iteration: bool = False
    verify_index_only: bool = False
    index_sanity_check: bool = False
    skip_record_metadata: bool = False
    max_message_size: int = MAX_MESSAGE_SIZE
    decoder: Decoder = Decoder.TEXT

    @property
    def shows_content(self) -> bool:
        return self.print_data_log or self.decoder is not Decoder.TEXT

    @property
    def opens_batches(self) -> bool:
        return self.deep_iteration or self.shows_content


@dataclass(slots=True)
class Findings:
    """What is wrong with the files, told after all of them: pairs of numbers by the path of the file."""

    index_mismatches: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    timestamp_mismatches: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    timestamps_out_of_order: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    offsets_not_found: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    offset_gaps: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """In Kafka's order; where it puts the newest first, so is it here."""
        lines = []
        for path, pairs in self.index_mismatches.items():
            lines += [f"Mismatches in :{path}"]
            lines += [f"  Index offset: {a}, log offset: {b}" for a, b in reversed(pairs)]
        for path, pairs in self.timestamp_mismatches.items():
            lines += [f"Found timestamp mismatch in :{path}"]
            lines += [f"  Index timestamp: {a}, log timestamp: {b}" for a, b in pairs]
        for path, pairs in self.timestamps_out_of_order.items():
            lines += [f"Found out of order timestamp in :{path}"]
            lines += [f"  Index timestamp: {a}, Previously indexed timestamp: {b}" for a, b in pairs]
        for pairs in self.offsets_not_found.values():
            lines += ["The following indexed offsets are not found in the log."]
            lines += [f"Indexed offset: {a}, found log offset: {b}" for a, b in pairs]
        for path, pairs in self.offset_gaps.items():
            lines += [f"Non-consecutive offsets in {path}"]
            lines += [f"  {a} is followed by {b}" for a, b in reversed(pairs)]
        return lines


@dataclass(frozen=True, slots=True)
class Output:
    """Where lines go: the dump itself, and what is wrong."""

    line: Callable[[str], None]
    problem: Callable[[str], None]
    findings: Findings = field(default_factory=Findings)
