"""How jobs stop their queries: after the batch that each is in, with nothing lost of what went wrong before."""

from argparse import Namespace
from collections import namedtuple
from typing import Any

import pytest

from jobs import running

_Told = namedtuple("_Told", "batchId json")  # noqa: PYI024  Spark's names
_OPTIONS = Namespace(metrics_port=0, seconds=0.01)


class _Query:
    """A query in a batch that ends when it was looked at so often."""

    def __init__(self, error: Exception | None = None, ends_after: int | None = None) -> None:
        self.name = "q"
        self.batch = 4
        self.isActive = error is None
        self.is_in_batch = error is None
        self.stopped_in: int | None = None
        self._error = error
        self._looks_left = ends_after

    @property
    def status(self) -> dict[str, bool]:
        if self._looks_left is not None:
            self._looks_left -= 1
            self.is_in_batch = self._looks_left > 0
            self.batch += self._looks_left == 0
        return {"isTriggerActive": self.is_in_batch}

    @property
    def lastProgress(self) -> Any:  # noqa: N802  Spark's name
        json = f'{{"id": "i", "batchId": {self.batch}, "numInputRows": 0}}'
        return _Told(self.batch, json)

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802
        return [self.lastProgress]

    def exception(self) -> Exception | None:
        return self._error

    def stop(self) -> None:
        self.stopped_in = self.batch
        if self.isActive:
            self._error = RuntimeError("its next batch was interrupted")
        self.isActive = False


def test_a_query_is_stopped_when_its_batch_has_ended() -> None:
    query = _Query(ends_after=9)
    running.run([query], _OPTIONS)  # type: ignore[list-item]
    assert query.stopped_in == 5


def test_a_query_between_two_batches_is_stopped_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    query = _Query()
    query.is_in_batch = False
    running.run([query], _OPTIONS)  # type: ignore[list-item]
    assert query.stopped_in == 4
    assert capsys.readouterr().out == "q: stopped after its batch\n"


def test_a_batch_that_does_not_end_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "_PATIENCE_S", 0.1)
    query = _Query()
    running.run([query], _OPTIONS)  # type: ignore[list-item]
    assert query.stopped_in == 4
    assert capsys.readouterr().out == "q: stopped in a batch, which is repeated after the next start\n"


def test_the_error_of_one_query_stops_the_others_and_is_raised() -> None:
    failed, other = _Query(ValueError("no such column")), _Query()
    other.is_in_batch = False
    with pytest.raises(ValueError, match="no such column"):
        running.run([other, failed], _OPTIONS)  # type: ignore[list-item]
    assert not other.isActive
