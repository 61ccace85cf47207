"""Quotas in force: who is told to wait, for how long, and that nothing is recorded where nobody has a quota."""

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.broker.core.live_config import LiveConfig
from tidelog.broker.core.quota_entries import CLIENT_ID, IP, QuotaOwner
from tidelog.broker.core.quotas import IDLE_MS
from tidelog.broker.shell.client_throttling import ClientThrottling
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.net.request_counts import ApiCounts
from tidelog.net.served import RequestContext
from tidelog.runtime.clock import ManualClock

SECOND_NS = 10**9
CLIENT = QuotaOwner.of([(CLIENT_ID, "app")])


class Quotas:
    """The configuration store, as far as quotas are concerned."""

    def __init__(self) -> None:
        self.live = LiveConfig(BrokerConfig(zookeeper_connect="zk:1", broker_id=1, log_dirs=("d",)))
        self._react: Callable[[QuotaOwner, Mapping[str, float]], None]

    def on_quota_changed(self, react: Callable[[QuotaOwner, Mapping[str, float]], None]) -> None:
        self._react = react

    def set(self, owner: QuotaOwner = CLIENT, /, **values: float) -> None:
        self._react(owner, values)


@pytest.fixture
def quotas() -> Quotas:
    return Quotas()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def throttling(quotas: Any, clock: ManualClock) -> ClientThrottling:
    return ClientThrottling(quotas, clock)


def request(client_id: str | None = "app", version: int = 9, busy_ns: int = 0) -> RequestContext:
    connection: Any = SimpleNamespace(listener="PLAINTEXT")
    counts = ApiCounts("Produce")
    return RequestContext(connection, 0, version, 1, client_id, counts, started_ns=1, deferred_ns=1 + busy_ns)


def test_it_is_on_only_while_somebody_has_a_quota(throttling: ClientThrottling, quotas: Quotas) -> None:
    assert not throttling.is_on
    quotas.set(QuotaOwner.of([(IP, None)]), connection_creation_rate=1)
    quotas.set(controller_mutation_rate=1)
    assert not throttling.is_on, "these are not for the hot path"
    for name in ("producer_byte_rate", "consumer_byte_rate", "request_percentage"):
        quotas.set(**{name: 1})
        assert (throttling.is_on, throttling.times_requests) == (True, name == "request_percentage")
        quotas.set()
        assert (throttling.is_on, throttling.times_requests) == (False, False)


def test_produced_bytes(throttling: ClientThrottling, quotas: Quotas, clock: ManualClock) -> None:
    quotas.set(producer_byte_rate=1000)
    assert throttling.produce_ms(request(), 10_000, is_answered=True) == 0, "ten seconds' worth may come at once"
    assert throttling.produce_ms(request(), 5_000, is_answered=True) == 5_000
    assert throttling.produce_ms(request("other"), 10**9, is_answered=True) == 0
    assert throttling.produce_ms(request(None), 10**9, is_answered=True) == 0
    clock.advance(60_000)
    assert throttling.produce_ms(request(), 1_000, is_answered=True) == 0


def test_a_throttled_fetch_is_not_counted(throttling: ClientThrottling, quotas: Quotas) -> None:
    quotas.set(consumer_byte_rate=1000)
    charge = throttling.fetch(request())
    assert charge.most_at_once() == 10_000
    assert charge.throttle_ms(10_000) == 0
    for _ in range(3):
        assert charge.throttle_ms(1_000) == 1_000, "the same each time"
    other = throttling.fetch(request("other"))
    assert (other.most_at_once(), other.throttle_ms(10**9)) == (2**31 - 1, 0)


def test_request_time_is_throttled_for_a_second_at_most(throttling: ClientThrottling, quotas: Quotas) -> None:
    quotas.set(request_percentage=10)
    assert throttling.request_ms(request(busy_ns=SECOND_NS)) == 0
    assert throttling.request_ms(request(busy_ns=20 * SECOND_NS)) == 1000
    assert throttling.fetch(request(busy_ns=SECOND_NS)).throttle_ms(0) == 1000
    assert throttling.produce_ms(request(busy_ns=SECOND_NS), 1, is_answered=True) == 1000
    assert throttling.produce_ms(request(busy_ns=SECOND_NS), 1, is_answered=False) == 0
    assert throttling.request_ms(request("other", busy_ns=20 * SECOND_NS)) == 0


def test_a_request_that_is_not_deferred_is_busy_up_to_now(throttling: ClientThrottling, quotas: Quotas) -> None:
    quotas.set(request_percentage=1)
    begun = request()
    begun.started_ns, begun.deferred_ns = perf_counter_ns() - 20 * SECOND_NS, 0
    assert throttling.request_ms(begun) == 1000


def test_changes_are_refused_in_newer_versions_and_throttled_in_older(
    throttling: ClientThrottling, quotas: Quotas, clock: ManualClock
) -> None:
    quotas.set(controller_mutation_rate=1)
    assert throttling.mutations(request("other"), 6) is None
    first, second, older = (throttling.mutations(request(version=v), 6) for v in (6, 6, 5))
    assert first is not None
    assert second is not None
    assert older is not None
    first.admit(30)
    assert first.throttle_time_ms == 0, "overdrawn once"
    with pytest.raises(KafkaError) as refused:
        second.admit(1)
    assert refused.value.code is KafkaCode.THROTTLING_QUOTA_EXCEEDED
    assert second.throttle_time_ms == 19_000
    older.admit(1)
    assert older.throttle_time_ms == 20_000
    clock.advance(20_000)
    second.admit(1)


def test_clients_that_are_gone_are_forgotten(throttling: ClientThrottling, quotas: Quotas, clock: ManualClock) -> None:
    quotas.set(QuotaOwner.of([(CLIENT_ID, None)]), producer_byte_rate=1)
    for number in range(5):
        throttling.produce_ms(request(f"app-{number}"), 1, is_answered=True)
    clock.advance(IDLE_MS)
    throttling.produce_ms(request("app-9"), 1, is_answered=True)
    assert len(throttling._quotas._meters) == 1
