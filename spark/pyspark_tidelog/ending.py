"""How a program tells its queries that it is about to end: from then on there is nothing new for them.

Spark can only interrupt a query, wherever that is. One without new data is between two batches, and is stopped there. What
plans batches is a process of its own that Java starts, so the word is a file whose name it has from its environment.
"""

import os
from pathlib import Path

_NAME = "TIDELOG_ENDING_FILE"


def prepare(file: Path) -> None:
    """Before Java is started: whose existence says that the program is ending."""
    os.environ[_NAME] = str(file)


def end() -> None:
    """Begin no batch with new data any more. Without `prepare`, as in a program that goes on, nothing."""
    if name := os.environ.get(_NAME):
        Path(name).touch()


def is_ending() -> bool:
    name = os.environ.get(_NAME)
    return name is not None and Path(name).exists()
