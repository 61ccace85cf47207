"""Settings of the SDK: both ways of naming them, Kafka's defaults, and faults that name the setting."""

import pytest

from tidelog.client import ConfigError, Consumer, Producer
from tidelog.client.configs.admin import AdminConfig
from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.configs.producer import ProducerConfig
from tidelog.client.configs.reading import read_settings

SERVERS = {"bootstrap_servers": "127.0.0.1:9092"}


def test_kafkas_defaults_hold() -> None:
    producer = read_settings(ProducerConfig, None, SERVERS)
    assert (producer.acks, producer.batch_size, producer.linger_ms) == (-1, 16_384, 0)
    assert (producer.buffer_memory, producer.max_block_ms, producer.max_request_size) == (33_554_432, 60_000, 1_048_576)
    assert producer.enable_idempotence
    assert producer.retries == 2**31 - 1
    consumer = read_settings(ConsumerConfig, None, SERVERS)
    assert (consumer.auto_offset_reset, consumer.max_poll_records) == ("latest", 500)
    assert (consumer.session_timeout_ms, consumer.max_poll_interval_ms) == (45_000, 300_000)
    assert consumer.enable_auto_commit
    assert read_settings(AdminConfig, None, SERVERS).default_api_timeout_ms == 60_000


def test_dotted_names_and_keyword_arguments_mean_the_same_and_the_argument_wins() -> None:
    config = read_settings(
        ProducerConfig, {"bootstrap.servers": "a:1,b:2", "linger.ms": 5, "acks": "all"}, {"linger_ms": 7}
    )
    assert config.bootstrap_servers == ("a:1", "b:2")
    assert config.linger_ms == 7
    assert read_settings(ProducerConfig, {"bootstrap.servers": ["a:1", "b:2"]}, {}).bootstrap_servers == ("a:1", "b:2")


def test_false_is_false() -> None:
    assert not read_settings(ConsumerConfig, {"enable.auto.commit": False}, SERVERS).enable_auto_commit
    assert not read_settings(ConsumerConfig, {"enable.auto.commit": "false"}, SERVERS).enable_auto_commit


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"linger.sm": 5}, "linger.sm is not a setting of this client (did you mean linger.ms?)"),
        ({"batch.size": "many"}, "batch.size=many"),
        ({"compression.type": "rar"}, "compression.type=rar is not allowed: it must be one of none, gzip"),
        ({"acks": 2}, "acks=2"),
        ({"acks": 1}, "enable.idempotence=true needs acks=all"),
        ({"max.in.flight.requests.per.connection": 6}, "max.in.flight.requests.per.connection of at most 5"),
        (
            {"transactional.id": "t", "enable.idempotence": False, "acks": 1},
            "transactional.id=t needs enable.idempotence",
        ),
        ({"delivery.timeout.ms": 10}, "delivery.timeout.ms=10 must be at least linger.ms + request.timeout.ms"),
        ({"bootstrap.servers": "nowhere"}, "bootstrap.servers=nowhere"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Producer({"bootstrap.servers": "127.0.0.1:9092", **given})
    assert named in str(caught.value)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Consumer(bootstrap_servers="", fetch_min_byte=1, isolation_level="dirty")
    for name in ("bootstrap.servers", "fetch.min.byte", "isolation.level"):
        assert name in str(caught.value)


def test_a_consumers_rules() -> None:
    with pytest.raises(ConfigError, match=r"heartbeat\.interval\.ms=6000 must be less than session\.timeout\.ms"):
        Consumer(SERVERS, session_timeout_ms=6000, heartbeat_interval_ms=6000)
    with pytest.raises(ConfigError, match=r"group\.instance\.id=a needs a group\.id"):
        Consumer(SERVERS, group_instance_id="a")
    with pytest.raises(ConfigError, match=r"partition\.assignment\.strategy=fair names fair"):
        Consumer(SERVERS, partition_assignment_strategy="fair")
