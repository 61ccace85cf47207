"""Every example of docs/client.md runs, in the order of the page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "client.md"
_ALL = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
EXAMPLES = [each for each in _ALL if "def test_" not in each]
# Tests of other projects; test_testing_plugin runs them.
TESTS = [each for each in _ALL if "def test_" in each]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 9
    assert len(TESTS) == 1


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(bootstrap: str, number: int, tmp_path: Path) -> None:
    if number:
        _run(EXAMPLES[1], bootstrap, tmp_path)
    _run(EXAMPLES[number], bootstrap, tmp_path)


def _run(example: str, bootstrap: str, folder: Path) -> None:
    script = folder / "example.py"
    script.write_text(example.replace("127.0.0.1:9092", bootstrap), "utf-8")
    done = subprocess.run([sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
