"""Settings files: what `up` decides above, what the person decides below, and who wins."""

from pathlib import Path

import pytest

from tidelog.local.faults import WrongUsageError
from tidelog.local.known_settings import check_settings, known_settings, unknown_sentences
from tidelog.local.layout import Counts, LocalProcess, Role, Shape, lay_out
from tidelog.local.properties import laid_out_settings, own_part, parse_overrides, settings_text, sized_settings
from tidelog.runtime.properties import parse_properties

SHAPE = lay_out(Counts())
KNOWN = {"broker.id", "log.dirs", "log.segment.bytes", "num.partitions"}


def first(role: Role, shape: Shape = SHAPE) -> LocalProcess:
    return shape.of(role)[0]


def test_overrides_are_parsed() -> None:
    assert parse_overrides(["a.b=1", "c = x=y ", "a.b=2"]) == {"a.b": "2", "c": "x=y"}


@pytest.mark.parametrize("text", ["log.segment.bytes", "=1", "", "a=1\nb=2"])
def test_what_is_not_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(WrongUsageError, match="KEY=VALUE"):
        parse_overrides([text])


@pytest.mark.parametrize(
    ("key", "way_out"),
    [
        ("listeners", "--port-base"),
        ("ops.listener", "--port-base"),
        ("zookeeper.connect", "--zookeeper"),
        ("broker.id", "0"),
    ],
)
def test_what_differs_from_process_to_process_cannot_be_set_for_all(key: str, way_out: str) -> None:
    with pytest.raises(WrongUsageError, match=way_out):
        parse_overrides([f"{key}=x"])


def test_a_broker_is_told_its_place() -> None:
    assert laid_out_settings(first(Role.BROKER), SHAPE, Path("/d/broker-0/data")) == {
        "broker.id": "0",
        "zookeeper.connect": "127.0.0.1:2181",
        "listeners": "PLAINTEXT://127.0.0.1:9092",
        "grpc.listener": "127.0.0.1:9192",
        "ops.listener": "127.0.0.1:9292",
        "log.dirs": "/d/broker-0/data",
    }


def test_metadata_serves_http_and_knows_the_controllers() -> None:
    settings = laid_out_settings(first(Role.METADATA), SHAPE, Path("/d"))
    assert settings["http.listener"] == "127.0.0.1:8080"
    assert settings["controllers"] == "127.0.0.1:9392,127.0.0.1:9393"
    assert "ops.listener" not in settings


@pytest.mark.parametrize(
    ("brokers", "replicas", "min_isr"), [(1, "1", "1"), (2, "2", "2"), (3, "3", "2"), (9, "3", "2")]
)
def test_internal_topics_fit_the_number_of_brokers(brokers: int, replicas: str, min_isr: str) -> None:
    assert sized_settings(brokers) == {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min_isr,
    }


def test_only_settings_that_the_role_knows_are_written() -> None:
    text = settings_text({"broker.id": "0", "metadata.id": "0"}, {"num.partitions": "3", "strange": "1"}, KNOWN)
    assert parse_properties(text) == {"broker.id": "0", "num.partitions": "3"}


def test_an_override_replaces_what_up_decides() -> None:
    text = settings_text({"log.dirs": "/d"}, {"log.dirs": "/mine"}, KNOWN)
    assert parse_properties(text) == {"log.dirs": "/mine"}
    assert text.count("log.dirs=") == 1


def test_edits_by_hand_survive_the_next_up() -> None:
    edited = (
        settings_text({"broker.id": "0", "log.dirs": "/d"}, {}, KNOWN) + "# because of the demo\nlog.segment.bytes=99\n"
    )
    again = settings_text({"broker.id": "0", "log.dirs": "/moved"}, {"num.partitions": "3"}, KNOWN, edited)
    expected = {"broker.id": "0", "log.dirs": "/moved", "log.segment.bytes": "99", "num.partitions": "3"}
    assert parse_properties(again) == expected
    assert "# because of the demo\n" in again


def test_the_same_override_twice_leaves_one_line() -> None:
    text = ""
    for value in ("1", "2", "2"):
        text = settings_text({}, {"num.partitions": value}, KNOWN, text)
    assert own_part(text) == "num.partitions=2\n"


def test_an_override_wins_over_a_value_that_spans_lines() -> None:
    previous = settings_text({}, {}, KNOWN) + "log.dirs=/a,\\\n  /b\n"
    assert parse_properties(settings_text({}, {"log.dirs": "/c"}, KNOWN, previous))["log.dirs"] == "/c"


def test_a_file_somebody_wrote_from_scratch_is_kept() -> None:
    assert parse_properties(settings_text({"broker.id": "0"}, {}, KNOWN, "num.partitions=7\n"))["num.partitions"] == "7"


def test_backslashes_arrive_as_they_were_given() -> None:
    text = settings_text({}, {"log.dirs": r"/odd\path"}, KNOWN)
    assert parse_properties(text) == {"log.dirs": r"/odd\path"}


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ZOOKEEPER])
@pytest.mark.parametrize("brokers", [1, 3])
def test_every_service_accepts_the_settings_it_is_given(role: Role, brokers: int) -> None:
    shape = lay_out(Counts(brokers=brokers), port_base=20000)
    for process in shape.of(role):
        upper = laid_out_settings(process, shape, Path("/d/data")) | sized_settings(brokers)
        settings = parse_properties(settings_text(upper, {}, known_settings(role)))
        check_settings(role, settings)
        assert settings.keys() <= set(known_settings(role))


def test_a_bad_value_is_a_wrong_use() -> None:
    texts = laid_out_settings(first(Role.BROKER), SHAPE, Path("/d")) | {"log.segment.bytes": "many"}
    with pytest.raises(WrongUsageError, match=r"log\.segment\.bytes=many"):
        check_settings(Role.BROKER, texts)


def test_a_setting_of_any_role_is_known_and_a_slip_of_the_pen_is_told() -> None:
    assert unknown_sentences(["log.segment.bytes", "early.fencing.enable"]) == []
    (sentence,) = unknown_sentences(["log.segment.byte"])
    assert "log.segment.bytes" in sentence
