"""Records that are gone: each kind of gap is found and told with partitions and offsets."""

from pyspark_tidelog.losses import Extent, loss_error, resume
from pyspark_tidelog.offsets import Offsets
from tidelog.client.records import TopicPartition

_A, _B = TopicPartition("t", 0), TopicPartition("t", 1)


def extent(start: int = 0, end: int = 100, id: str = "one") -> Extent:
    return Extent({_A: start}, {_A: end}, {"t": id})


def at(offset: int, id: str = "one") -> Offsets:
    return Offsets({_A: offset}, {"t": id})


def test_a_query_goes_on_where_it_was() -> None:
    found = resume(at(7), extent())
    assert (found.offsets, found.losses) == ({_A: 7}, [])


def test_new_partitions_begin_at_their_first_record() -> None:
    found = resume(at(7), Extent({_A: 0, _B: 3}, {_A: 100, _B: 9}, {"t": "one"}))
    assert (found.offsets, found.losses) == ({_A: 7, _B: 3}, [])


def test_retention_that_was_faster_is_a_gap() -> None:
    found = resume(at(7), extent(start=20))
    assert found.offsets == {_A: 20}
    assert found.losses == ["t-0 lost offsets 7 to 19; its log begins at 20 now"]


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    found = resume(at(7), extent(id="two"))
    assert found.offsets == {_A: 0}
    assert "t-0 belongs to a topic that was re-created; the query was at offset 7" in found.losses[0]


def test_a_log_that_became_shorter_is_a_gap() -> None:
    found = resume(at(7), extent(end=5))
    assert found.offsets == {_A: 5}
    assert found.losses == ["t-0 ends at offset 5 now, and the query was at 7"]


def test_a_partition_that_is_gone_is_a_gap() -> None:
    found = resume(Offsets({_B: 4}), extent())
    assert found.losses == ["t-1 does not exist any more; the query was at offset 4"]
    assert _B not in found.offsets


def test_the_error_names_every_gap_and_the_way_out() -> None:
    text = str(loss_error(["t-0 lost offsets 7 to 19", "t-1 is gone"]))
    assert "t-0 lost offsets 7 to 19; t-1 is gone" in text
    assert "failOnDataLoss=false" in text


def test_offsets_survive_a_checkpoint() -> None:
    offsets = Offsets({_A: 7, _B: 2}, {"t": "one"})
    assert offsets.to_json() == {"t": {"0": 7, "1": 2}, "$ids": {"t": "one"}}
    assert Offsets.from_json(offsets.to_json()) == offsets


def test_a_checkpoint_of_sparks_own_source_has_no_ids_and_is_believed() -> None:
    found = resume(Offsets.from_json({"t": {"0": 7}}), extent())
    assert (found.offsets, found.losses) == ({_A: 7}, [])
