"""Operations: how a run of them is cut into transactions, and how kazoo's exceptions become our errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo import exceptions as kazoo

from tidelog.zk.errors import (
    BadVersion,
    ConnectionLost,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionExpired,
    ZkError,
    from_kazoo,
    is_cause,
)
from tidelog.zk.operations import Create, Delete, op_bytes, pack


@given(sizes=st.lists(st.integers(0, 500), max_size=60), ops_max=st.integers(1, 10), bytes_max=st.integers(100, 2000))
def test_packs_keep_order_and_bounds(sizes: list[int], ops_max: int, bytes_max: int) -> None:
    ops = [Create(f"/{number}", bytes(size)) for number, size in enumerate(sizes)]
    packs = list(pack(ops, ops_max=ops_max, bytes_max=bytes_max))
    assert [op for batch in packs for op in batch] == ops
    assert all(1 <= len(batch) <= ops_max for batch in packs)
    assert all(len(batch) == 1 or sum(map(op_bytes, batch)) <= bytes_max for batch in packs)


def test_a_thousand_creates_are_ten_transactions() -> None:
    assert [len(batch) for batch in pack(Create(f"/n{number}") for number in range(1000))] == [100] * 10


def test_size_counts_bytes_not_characters() -> None:
    assert op_bytes(Delete("/üü")) - op_bytes(Delete("/aa")) == 2


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (kazoo.NoNodeError(), NoNode),
        (kazoo.NodeExistsError(), NodeExists),
        (kazoo.BadVersionError(), BadVersion),
        (kazoo.NotEmptyError(), NotEmpty),
        (kazoo.SessionExpiredError(), SessionExpired),
        (kazoo.ConnectionClosedError("closed"), SessionExpired),
        (kazoo.ConnectionLoss(), ConnectionLost),
        (kazoo.SessionMovedError(), ConnectionLost),
        (RuntimeError("xids do not match"), ConnectionLost),
        (kazoo.NoAuthError(), ZkError),
    ],
)
def test_mapping(theirs: Exception, ours: type[ZkError]) -> None:
    error = from_kazoo(theirs, path="/p", index=3)
    assert type(error) is ours
    assert (error.path, error.index) == ("/p", 3)
    assert str(error).startswith("/p: ")


def test_the_cause_of_a_failed_multi() -> None:
    results = [kazoo.RolledBackError(), kazoo.BadVersionError(), kazoo.RuntimeInconsistency()]
    assert [is_cause(result) for result in results] == [False, True, False]
