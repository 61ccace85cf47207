"""How fast connections may come in all and from one address."""

import pytest

from tidelog.broker.core.connection_rates import ConnectionRates
from tidelog.broker.core.quotas import INT32_MAX


@pytest.fixture
def rates() -> ConnectionRates:
    return ConnectionRates(INT32_MAX, samples=11, window_s=1)


def test_without_a_bound_nobody_waits(rates: ConnectionRates) -> None:
    assert all(rates.pause_ms(0) == 0 and rates.refusal_ms("1.2.3.4", 0) == 0 for _ in range(10_000))


def test_beyond_the_rate_there_are_pauses_of_a_window_at_most(rates: ConnectionRates) -> None:
    rates.set_bound(10)
    pauses = [rates.pause_ms(0) for _ in range(500)]
    assert pauses[:100] == [0] * 100, "a rate is taken over eleven windows"
    assert 0 < pauses[101] <= pauses[499] == 1000
    assert rates.pause_ms(60_000) == 0


def test_an_address_beyond_its_rate_is_turned_away_and_not_counted(rates: ConnectionRates) -> None:
    rates.set_ip_bound("1.1.1.1", 5)
    admitted = sum(rates.refusal_ms("1.1.1.1", 0) == 0 for _ in range(1000))
    assert admitted == 50
    assert rates.refusal_ms("1.1.1.1", 0) <= 1000
    assert rates.refusal_ms("2.2.2.2", 0) == 0
    later = sum(rates.refusal_ms("1.1.1.1", 60_000) == 0 for _ in range(1000))
    assert later == 50


def test_the_default_is_for_each_address_without_a_bound_of_its_own(rates: ConnectionRates) -> None:
    rates.set_ip_bound(None, 1)
    rates.set_ip_bound("1.1.1.1", 100)
    by_address = {ip: sum(rates.refusal_ms(ip, 0) == 0 for _ in range(500)) for ip in ("1.1.1.1", "2.2.2.2", "3.3.3.3")}
    assert by_address == {"1.1.1.1": 500, "2.2.2.2": 10, "3.3.3.3": 10}
    rates.set_ip_bound(None, None)
    assert rates.refusal_ms("2.2.2.2", 0) == 0


def test_none_at_all_may_be_wanted_of_an_address(rates: ConnectionRates) -> None:
    rates.set_ip_bound("1.1.1.1", 0)
    assert rates.refusal_ms("1.1.1.1", 0) == 1000
