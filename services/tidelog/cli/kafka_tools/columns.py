"""The tables of kafka-consumer-groups: columns that are never narrower than they are in Kafka."""

from collections.abc import Sequence
from typing import Any

_WIDTH_MIN = 15


def group_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The heads and rows, columns between blanks; what is not known is a dash. An empty line comes first."""
    cells = [list(heads), *([_cell(each) for each in row] for row in rows)]
    widths = [
        max(_WIDTH_MIN if len(heads[column]) > 1 else 1, *(len(line[column]) for line in cells))
        for column in range(len(heads))
    ]
    lines = (" ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in cells)
    return "\n" + "\n".join(lines)


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)
