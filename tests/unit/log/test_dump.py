"""The lines of a dump; that they are Kafka's own is what the interop tests say."""

from pathlib import Path

import pytest

from tests.support import dump_samples
from tests.support.dump_samples import transaction_key, transaction_value
from tests.support.logs import NOW, LogOnDisk, append
from tidelog.broker.log.dump.dumping import dump_files
from tidelog.broker.log.dump.java_text import in_set_order, json_text
from tidelog.broker.log.dump.options import Decoder, DumpError, DumpOptions, Output
from tidelog.broker.log.files import Files
from tidelog.kafka.records.compression import Codec

SHALLOW = DumpOptions()
DEEP = DumpOptions(deep_iteration=True)
CONTENT = DumpOptions(print_data_log=True)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dump") / "plain-0"
    dump_samples.plain_log(directory)
    return directory


def dumped(*files: Path, options: DumpOptions = SHALLOW) -> tuple[list[str], list[str]]:
    lines: list[str] = []
    problems: list[str] = []
    dump_files(Files(), [(str(file), str(file)) for file in files], options, Output(lines.append, problems.append))
    return lines, problems


def test_a_batch_is_a_line(plain: Path) -> None:
    file = plain / "00000000000000000000.log"
    lines, problems = dumped(file)
    assert lines[:2] == [f"Dumping {file}", "Log starting offset: 0"]
    assert lines[2].startswith(
        "baseOffset: 0 lastOffset: 6 count: 7 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
        f"position: 0 CreateTime: {NOW + 60} size: 179 magic: 2 compresscodec: none crc: "
    )
    assert lines[2].endswith(" isvalid: true")
    assert [codec for codec in Codec if f"compresscodec: {codec.name.lower()} " in "".join(lines)] == list(Codec)
    assert problems == []


def test_records_are_shown_with_and_without_their_content(plain: Path) -> None:
    file = plain / "00000000000000000000.log"
    bare = f"| offset: 1 CreateTime: {NOW + 10} keySize: 2 valueSize: 7 sequence: -1 headerKeys: [h0]"
    assert dumped(file, options=DEEP)[0][4] == bare
    assert dumped(file, options=CONTENT)[0][4] == bare + " key: k1 payload: value 1"
    only = DumpOptions(print_data_log=True, skip_record_metadata=True)
    assert dumped(file, options=only)[0][3:6] == ["", "| key: k1 payload: value 1", "| key: k2 payload: value 2"]
    assert any(line.endswith("endTxnMarker: ABORT coordinatorEpoch: 0") for line in dumped(file, options=DEEP)[0])


def test_indexes_snapshots_and_aborted_transactions(plain: Path) -> None:
    index, _ = dumped(plain / "00000000000000000000.index")
    assert index[1].startswith("offset: ")
    times, _ = dumped(plain / "00000000000000000000.timeindex")
    assert times[1] == f"timestamp: {NOW + 60} offset: 6"
    aborted, _ = dumped(plain / "00000000000000000000.txnindex")
    assert aborted[1].startswith("version: 0 producerId: 1 firstOffset: ")
    newest = max(plain.glob("*.snapshot"))
    producers, _ = dumped(newest)
    assert producers[-1].startswith("producerId: 77 producerEpoch: 3 coordinatorEpoch: -1 currentTxnFirstOffset: Opt")
    assert f" firstSequence: {2**31 - 1} lastSequence: 0 " in producers[-1]


def test_an_index_that_lies_is_found_out(plain: Path, tmp_path: Path) -> None:
    for file in plain.glob("00000000000000000000.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    index, times = tmp_path / "00000000000000000000.index", tmp_path / "00000000000000000000.timeindex"
    entry = int.from_bytes(index.read_bytes()[:4], "big")
    index.write_bytes((entry + 1).to_bytes(4, "big") + index.read_bytes()[4:])
    times.write_bytes((NOW - 5).to_bytes(8, "big") + times.read_bytes()[8:])
    _, problems = dumped(index, times, options=DumpOptions(verify_index_only=True))
    assert problems[:2] == [f"Mismatches in :{index}", f"  Index offset: {entry + 1}, log offset: {entry}"]
    assert problems[2] == f"Found timestamp mismatch in :{times}"
    assert problems[3].startswith(f"  Index timestamp: {NOW - 5}, log timestamp: ")


def test_an_index_behind_the_end_of_its_log_is_a_sentence(plain: Path, tmp_path: Path) -> None:
    index, log = tmp_path / "00000000000000000000.index", tmp_path / "00000000000000000000.log"
    index.write_bytes((plain / index.name).read_bytes())
    with pytest.raises(DumpError, match="which does not exist"):
        dumped(index)
    log.write_bytes(b"")
    with pytest.raises(DumpError, match="has no batch at position"):
        dumped(index)
    log.write_bytes((plain / log.name).read_bytes())
    with pytest.raises(DumpError, match="--max-message-size"):
        dumped(index, options=DumpOptions(max_message_size=20))
    index.write_bytes(b"\xff\xff\xff\xf0" + bytes(4))
    with pytest.raises(DumpError, match="corrupt index"):
        dumped(index, options=DumpOptions(index_sanity_check=True))


def test_damage_is_shown_where_it_is(plain: Path, tmp_path: Path) -> None:
    file = tmp_path / "00000000000000000000.log"
    whole = (plain / file.name).read_bytes()
    file.write_bytes(whole[:100] + b"\xff" + whole[101:])
    assert [line for line in dumped(file)[0] if line.endswith("isvalid: false")] == [dumped(file)[0][2]]
    file.write_bytes(whole + b"0123456789")
    assert dumped(file)[0][-1] == "Found 10 invalid bytes at the end of 00000000000000000000.log"
    file.write_bytes(whole + bytes(100))
    with pytest.raises(DumpError, match=f"no batch at position {len(whole)}"):
        dumped(file)
    file.write_bytes(whole[:16] + b"\1" + whole[17:])
    with pytest.raises(DumpError, match="of version 1 at position 0"):
        dumped(file)


def test_a_corrupt_snapshot_does_not_stop_the_others(plain: Path, tmp_path: Path) -> None:
    bad = tmp_path / "00000000000000000007.snapshot"
    bad.write_bytes(b"nothing of the kind")
    lines, problems = dumped(bad, plain / "00000000000000000000.txnindex")
    assert len(problems) == 1
    assert "corrupt snapshot" in problems[0]
    assert lines[-1].startswith("version: 0")


def test_the_records_of_the_coordinators(tmp_path: Path) -> None:
    dump_samples.offsets_log(tmp_path / "o-0")
    dump_samples.transactions_log(tmp_path / "t-0")
    only = DumpOptions(decoder=Decoder.OFFSETS, skip_record_metadata=True)
    offsets = "\n".join(dumped(*sorted((tmp_path / "o-0").glob("*.log")), options=only)[0])
    assert '| key: {"type":"2","data":{"group":"g"}} payload: <DELETE>' in offsets
    assert '"subscription":{"topics":["a","b"],"userData":"dXNlcg==","ownedPartitions"' in offsets
    assert "Unknown record type 99 at offset 14, skipping." in offsets
    only = DumpOptions(decoder=Decoder.TRANSACTION_LOG, skip_record_metadata=True)
    states = "\n".join(dumped(*sorted((tmp_path / "t-0").glob("*.log")), options=only)[0])
    assert "payload: producerId:5,producerEpoch:2,state=PrepareEpochFence,partitions=[orders-" in states
    assert "key: unknown::version=5" in states


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        (None, b"v", "missing key"),
        (transaction_key("t"), b"\0\7", "version 7"),
        (transaction_key("t"), b"\0\0", "ends"),
    ],
)
def test_a_record_that_is_no_transaction_is_a_sentence(
    tmp_path: Path, key: bytes | None, value: bytes, fault: str
) -> None:
    log = LogOnDisk(tmp_path / "t-0").open()
    dump_samples.append_one(log, (key, value))
    log.close()
    with pytest.raises(DumpError, match=f"offset 0 .*{fault}"):
        dumped(tmp_path / "t-0" / "00000000000000000000.log", options=DumpOptions(decoder=Decoder.TRANSACTION_LOG))


def test_a_state_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    log = LogOnDisk(tmp_path / "t-0").open()
    dump_samples.append_one(log, (transaction_key("t"), transaction_value(9, None)))
    append(log)
    log.close()
    with pytest.raises(DumpError, match="state is 9"):
        dumped(tmp_path / "t-0" / "00000000000000000000.log", options=DumpOptions(decoder=Decoder.TRANSACTION_LOG))


def test_json_is_as_jackson_writes_it() -> None:
    assert json_text({"a": 'q"\\\x1f\t/é', "b": [1, None, []]}) == '{"a":"q\\"\\\\\\u001F\\t/é","b":[1,null,[]]}'


def test_the_order_of_a_hash_set() -> None:
    """Taken from Kafka's own output."""
    found = in_set_order([("top", [0, 1, 2, 5]), ("other", [3]), ("__consumer_offsets", [17])])
    assert found == ["top-5", "top-1", "top-2", "top-0", "other-3", "__consumer_offsets-17"]
    assert in_set_order([("t", [1]), ("t", [1])]) == ["t-1"]
