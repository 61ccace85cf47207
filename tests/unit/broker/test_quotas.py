"""Client and replication quotas (semantics, section 8, and section 11 on how values are stored)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.core import quotas as quotas_module
from tidelog.broker.core.quota_limits import (
    DEFAULT,
    QuotaEntity,
    QuotaLimits,
    java_double_text,
    parse_quota,
    quota_text,
)
from tidelog.broker.core.quotas import ClientQuotas, RateMeter
from tidelog.broker.core.rate_window import RateWindow, SpanRate, TokenBucket
from tidelog.broker.core.replication_quota import ReplicationQuota, throttled_partitions
from tidelog.kafka.errors import KafkaCode, KafkaError

PRODUCE = "producer_byte_rate"

# From the most specific to the least, with whom the quota is shared by.
PRECEDENCE = [
    (QuotaEntity("u", "c"), ("u", "c")),
    (QuotaEntity("u", DEFAULT), ("u", "c")),
    (QuotaEntity("u", None), ("u", None)),
    (QuotaEntity(DEFAULT, "c"), ("u", "c")),
    (QuotaEntity(DEFAULT, DEFAULT), ("u", "c")),
    (QuotaEntity(DEFAULT, None), ("u", None)),
    (QuotaEntity(None, "c"), (None, "c")),
    (QuotaEntity(None, DEFAULT), (None, "c")),
]


@pytest.mark.parametrize("first", range(len(PRECEDENCE)))
def test_the_most_specific_quota_applies_and_is_shared_by_whom_it_names(first: int) -> None:
    limits = QuotaLimits()
    for rank, (entity, _) in enumerate(PRECEDENCE):
        if rank >= first:
            limits.set(entity, {PRODUCE: 100 + rank})
    assert limits.applied(PRODUCE, "u", "c") == (100 + first, *PRECEDENCE[first][1])


def test_other_names_do_not_apply() -> None:
    limits = QuotaLimits()
    limits.set(QuotaEntity("u", "c"), {PRODUCE: 1})
    limits.set(QuotaEntity(None, "other"), {PRODUCE: 2})
    assert limits.applied(PRODUCE, "u", "d") is None
    assert limits.applied("consumer_byte_rate", "u", "c") is None


def test_what_is_not_mentioned_is_gone() -> None:
    limits = QuotaLimits()
    limits.set(QuotaEntity("u", None), {PRODUCE: 1, "consumer_byte_rate": 2})
    limits.set(QuotaEntity("u", None), {"consumer_byte_rate": 3})
    assert limits.applied(PRODUCE, "u", "c") is None
    assert limits.applied("consumer_byte_rate", "u", "c") == (3, "u", None)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (PRODUCE, 1000.0, "1000"),
        ("consumer_byte_rate", 1048576.0000001, "1048576"),
        ("connection_creation_rate", 10.0, "10"),
        ("request_percentage", 5000.0, "5000.0"),
        ("controller_mutation_rate", 0.5, "0.5"),
        ("controller_mutation_rate", 12_500_000.0, "1.25E7"),
    ],
)
def test_values_are_stored_as_kafka_stores_them(key: str, value: float, text: str) -> None:
    assert quota_text(key, value) == text
    assert parse_quota(text) == pytest.approx(value)


@pytest.mark.parametrize(("key", "value"), [(PRODUCE, 10.5), ("no_such_rate", 1.0)])
def test_fractions_of_bytes_and_unknown_keys_are_refused(key: str, value: float) -> None:
    with pytest.raises(KafkaError) as refused:
        quota_text(key, value)
    assert refused.value.code is KafkaCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0"), (0.001, "0.001"), (0.00025, "2.5E-4"), (9_999_999.5, "9999999.5"), (1e7, "1.0E7"), (1e22, "1.0E22")],
)
def test_doubles_look_as_in_java(value: float, text: str) -> None:
    assert java_double_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_come_back(value: float) -> None:
    assert float(java_double_text(value)) == value


# Rates


def test_a_young_rate_is_taken_over_ten_full_windows_and_the_one_begun() -> None:
    rate = RateWindow(11, 1000)
    rate.record(10_000, 5_000)
    assert rate.rate(5_000) == 1000
    assert rate.span_ms(5_400) == 10_400


def test_an_old_rate_is_taken_over_the_time_since_its_oldest_sample() -> None:
    rate = RateWindow(11, 1000)
    for second in range(30):
        rate.record(100, second * 1000)
    assert rate.span_ms(29_000) == 10_000
    assert rate.rate(29_000) == pytest.approx(11 * 100 / 10)


def test_samples_expire() -> None:
    rate = RateWindow(11, 1000)
    rate.record(100, 0)
    assert rate.rate(10_999) > 0
    assert rate.rate(11_000) == 0
    rate.record(50, 60_000)
    assert rate.rate(60_000) == 5


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 1000)), max_size=60))
def test_a_rate_equals_one_computed_from_every_event(events: list[tuple[int, int]]) -> None:
    """The model keeps all events in samples that begin with the first event after the former one's end."""
    rate, now_ms = RateWindow(11, 1000), 0
    samples: list[tuple[int, int]] = []
    for delta_ms, value in events:
        now_ms += delta_ms
        rate.record(value, now_ms)
        if not samples or now_ms - samples[-1][0] >= 1000:
            samples.append((now_ms, 0))
        samples[-1] = (samples[-1][0], samples[-1][1] + value)
        alive = [sample for sample in samples if now_ms - sample[0] < 11_000][-11:]
        elapsed = now_ms - alive[0][0]
        span = elapsed + max(0, 10 - elapsed // 1000) * 1000
        assert rate.rate(now_ms) == pytest.approx(sum(total for _, total in alive) * 1000 / span)


def test_within_the_quota_there_is_no_throttling() -> None:
    assert RateMeter(1000, 11, 1000).record(10_000, 0) == 0


def test_the_throttle_brings_the_rate_down_to_the_bound() -> None:
    """(rate - bound) / bound * W: 20 000 bytes over 10 s at 1000 a second need 10 s more."""
    meter = RateMeter(1000, 11, 1000)
    assert meter.record(20_000, 0) == 10_000
    assert meter.record(0, 500) == round((20_000 / 10.5 - 1000) / 1000 * 10_500)


def test_byte_quotas_are_unbounded_and_request_quotas_are_not() -> None:
    quotas = ClientQuotas()
    quotas.set(QuotaEntity("u", None), {PRODUCE: 1, "request_percentage": 1})
    produce, request = quotas.produce("u", "c"), quotas.request("u", "c")
    assert produce is not None
    assert request is not None
    assert produce.record(1_000_000, 0) > 900_000
    assert request.record(1_000_000, 0) == 1000, "one window"


def test_a_throttled_fetch_is_taken_back() -> None:
    meter = RateMeter(1000, 11, 1000)
    meter.record(9_000, 0)
    assert meter.record(5_000, 100) > 0
    meter.take_back(5_000, 100)
    assert meter.record(500, 200) == 0


def test_a_consumer_gets_no_more_at_once_than_ten_seconds_worth() -> None:
    assert RateMeter(1000, 11, 1000).most_at_once() == 10_000
    assert RateMeter(1e12, 11, 1000).most_at_once() == (1 << 31) - 1


def test_without_quotas_there_are_no_meters() -> None:
    quotas = ClientQuotas()
    assert quotas.produce("u", "c") is None
    quotas.set(QuotaEntity("other", None), {PRODUCE: 1})
    assert quotas.produce("u", "c") is None
    assert quotas.mutation("u", "c", 0) is None


def test_all_clients_of_a_user_share_the_users_quota() -> None:
    quotas = ClientQuotas()
    quotas.set(QuotaEntity("u", None), {PRODUCE: 100})
    assert quotas.produce("u", "c") is quotas.produce("u", "d")
    quotas.set(QuotaEntity("u", DEFAULT), {PRODUCE: 100})
    assert quotas.produce("u", "c") is not quotas.produce("u", "d")


def test_a_change_keeps_what_was_counted() -> None:
    quotas = ClientQuotas()
    quotas.set(QuotaEntity("u", None), {PRODUCE: 1000})
    meter = quotas.produce("u", "c")
    assert meter is not None
    meter.record(10_000, 0)
    before = quotas.generation
    quotas.set(QuotaEntity("u", None), {PRODUCE: 500})
    assert quotas.generation > before
    again = quotas.produce("u", "c")
    assert again is not None
    assert again.record(0, 0) == 10_000


def test_invented_client_ids_do_not_grow_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas_module, "METERS_MAX", 10)
    quotas = ClientQuotas()
    quotas.set(QuotaEntity(None, DEFAULT), {PRODUCE: 1, "controller_mutation_rate": 1})
    for number in range(100):
        quotas.produce("u", f"c{number}")
        quotas.mutation("u", f"c{number}", 0)
    assert len(quotas._meters) == len(quotas._mutations) == 10


def test_idle_clients_are_forgotten() -> None:
    quotas = ClientQuotas()
    quotas.set(QuotaEntity(None, DEFAULT), {PRODUCE: 100})
    for client, now_ms in (("old", 0), ("new", 3_000_000)):
        meter = quotas.produce("u", client)
        assert meter is not None
        meter.record(1, now_ms)
    kept = quotas.produce("u", "new")
    quotas.forget_idle(3_700_000)
    assert list(quotas._meters) == [(PRODUCE, None, "new")]
    assert quotas.produce("u", "new") is kept


# Changes to topics


def test_the_bucket_holds_a_burst_and_refills_at_the_rate() -> None:
    bucket = TokenBucket(rate=2, burst_s=11, now_ms=0)
    bucket.take(22, 0)
    assert bucket.missing_ms(0) == 0
    bucket.take(4, 0)
    assert bucket.missing_ms(0) == 2000
    assert bucket.missing_ms(1500) == 500
    assert bucket.missing_ms(2000) == 0
    bucket.take(22, 1_000_000)
    assert bucket.missing_ms(1_000_000) == 0, "no more than a burst is saved up"
    bucket.take(1, 1_000_000)
    assert bucket.missing_ms(1_000_000) == 500


def test_newer_requests_are_refused_while_it_is_overdrawn() -> None:
    quotas = ClientQuotas()
    quotas.set(QuotaEntity("u", None), {"controller_mutation_rate": 1})
    meter = quotas.mutation("u", "c", 0)
    assert meter is not None
    meter.refuse(12, 0)
    with pytest.raises(KafkaError) as refused:
        meter.refuse(1, 0)
    assert refused.value.code is KafkaCode.THROTTLING_QUOTA_EXCEEDED
    assert meter.throttle_ms(0) == 1000, "the refused one was not counted"
    meter.refuse(1, 1000)


def test_older_requests_are_made_and_throttled_afterwards() -> None:
    quotas = ClientQuotas()
    quotas.set(QuotaEntity("u", None), {"controller_mutation_rate": 1})
    meter = quotas.mutation("u", "c", 0)
    assert meter is not None
    assert meter.throttle(11, 0) == 0
    assert meter.throttle(2, 0) == 2000
    assert meter.throttle(1, 0) == 3000


# Replication


@pytest.mark.parametrize(
    ("entries", "expected"),
    [([], set()), (["*"], None), (["0:1", "2:1", "3:2"], {0, 2}), ([" 4:1 ", ""], {4})],
)
def test_listed_replicas(entries: list[str], expected: set[int] | None) -> None:
    assert throttled_partitions(entries, 1) == expected


@pytest.mark.parametrize("entry", ["1", "a:1", "1:2:3", "*:1"])
def test_other_lists_are_no_lists(entry: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  int's and unpacking's own words
        throttled_partitions([entry], 1)


def test_only_listed_out_of_sync_replicas_wait() -> None:
    quota = ReplicationQuota(bound=1000)
    quota.set_topic("t", frozenset({0}))
    quota.set_topic("all", None)
    quota.record(5000, 0)
    assert quota.is_exceeded(0)
    assert quota.must_wait("t", 0, 0, is_in_sync=False)
    assert quota.must_wait("all", 7, 0, is_in_sync=False)
    assert not quota.must_wait("t", 0, 0, is_in_sync=True)
    assert not quota.must_wait("t", 1, 0, is_in_sync=False)
    assert not quota.must_wait("other", 0, 0, is_in_sync=False)
    assert not quota.must_wait("t", 0, 6000, is_in_sync=False), "5000 bytes in 6 s"
    quota.set_topic("t", frozenset())
    assert not quota.is_throttled("t", 0)


def test_the_replication_rate_is_not_padded_beyond_one_window() -> None:
    rate = SpanRate(11, 1000)
    rate.record(1000, 0)
    assert rate.rate(10) == 1000
    assert rate.rate(5000) == 200
