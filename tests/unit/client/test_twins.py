"""The synchronous twins have everything that the asynchronous clients have."""

import pytest

from tidelog.client import Admin, Consumer, Producer, sync

# What only a program with an event loop can use.
_ONLY_ASYNC = {"start", "connections", "metadata", "insist", "back_off", "any_broker", "controller", "check_open"}
_ONLY_ASYNC |= {"enqueue", "check_in_transaction"}


@pytest.mark.parametrize(
    ("client", "twin"), [(Producer, sync.Producer), (Consumer, sync.Consumer), (Admin, sync.Admin)]
)
def test_a_twin_has_every_call(client: type, twin: type) -> None:
    calls = {name for name in dir(client) if not name.startswith("_")}
    assert calls - set(dir(twin)) <= _ONLY_ASYNC
