"""The ZooKeeper in memory that controllers are tested with behaves as the real one where it matters."""

import pytest

from tests.support.zookeeper_model import BadVersion, Change, ModelZooKeeper, NodeExists, NoNode, NotEmpty
from tidelog.zk.operations import Check, Create, Delete, SetData


def test_versions_count_writes_and_conditions_are_checked() -> None:
    zk = ModelZooKeeper()
    assert zk.multi([Create("/a", b"1")]) == ["/a"]
    assert zk.multi([SetData("/a", b"2", 0)]) == [1]
    with pytest.raises(BadVersion):
        zk.multi([SetData("/a", b"3", 0)])
    node = zk.get("/a")
    assert node is not None
    assert (node.data, node.version) == (b"2", 1)


def test_a_transaction_is_all_or_nothing_and_tells_of_nothing_undone() -> None:
    zk = ModelZooKeeper()
    changes: list[Change] = []
    zk.on_change = changes.append
    zk.ensure("/epoch")
    changes.clear()
    before = dict(zk.nodes)
    with pytest.raises(BadVersion) as refusal:
        zk.multi([Create("/a"), Create("/a/b"), Delete("/a/b"), Check("/epoch", 9)])
    assert refusal.value.index == 3
    assert zk.nodes == before
    assert changes == []


def test_parents_children_and_sequences() -> None:
    zk = ModelZooKeeper()
    with pytest.raises(NoNode):
        zk.multi([Create("/a/b")])
    zk.ensure("/a")
    assert zk.multi([Create("/a/n_", sequence=True), Create("/a/n_", sequence=True)]) == [
        "/a/n_0000000000",
        "/a/n_0000000001",
    ]
    with pytest.raises(NodeExists):
        zk.multi([Create("/a")])
    with pytest.raises(NotEmpty):
        zk.multi([Delete("/a")])
    zk.delete_tree("/a")
    assert zk.children("/") == ()
