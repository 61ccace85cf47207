"""What commands print: tables for people, one JSON document for programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

_GAP = "  "


def print_json(document: Any) -> None:
    """The one document of --json."""
    print(json.dumps(document, indent=2 if sys.stdout.isatty() else None))


def note(sentence: str) -> None:
    """A sentence for people beside the output, which stays clean for programs."""
    print(sentence, file=sys.stderr)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table in colours on a terminal; aligned columns that are never cut anywhere else."""
    if not sys.stdout.isatty():
        print("\n".join(table_lines(heads, rows)))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*heads, box=box.SIMPLE_HEAD, header_style="bold")
    for row in rows:
        table.add_row(*map(cell, row))
    Console().print(table, markup=False)


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """The lines of a table, each column as wide as its widest cell."""
    cells = [list(heads), *([cell(each) for each in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    return [_GAP.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def cell(value: Any) -> str:
    """What is not known is a dash, lists are put in a row."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)
