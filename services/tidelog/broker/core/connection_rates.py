"""How fast connections may come: in all, which delays those that come, and from one address, which turns them away.

Kafka's rules: rates are taken over the windows of client quotas, and nobody is held for longer than one window. What was
turned away does not count.
"""

from tidelog.broker.core.quotas import INT32_MAX, METERS_MAX, RateMeter


class ConnectionRates:
    """The rates of one broker, which are not measured where there is no bound."""

    def __init__(self, bound: int, samples: int, window_s: int) -> None:
        self._samples, self._window_ms = samples, window_s * 1000
        self._all = RateMeter(bound, samples, self._window_ms, self._window_ms)
        # Bounds by address, None being the address of everybody who has no bound of his own.
        self._bounds: dict[str | None, float] = {}
        self._by_ip: dict[str, RateMeter] = {}

    def set_bound(self, bound: int) -> None:
        """Connections a second in all; INT32_MAX for no bound."""
        self._all.bound = bound

    def set_ip_bound(self, ip: str | None, bound: float | None) -> None:
        """Connections a second from an address, or from each that has no bound of its own."""
        if bound is None:
            self._bounds.pop(ip, None)
        else:
            self._bounds[ip] = bound
        self._by_ip.clear()

    def pause_ms(self, now_ms: float) -> int:
        """One more has come: how long the next has to wait."""
        return 0 if self._all.bound >= INT32_MAX else self._all.record(1, now_ms)

    def refusal_ms(self, ip: str, now_ms: float) -> int:
        """How long one from this address that came too fast is held before it is closed; 0 if it may come in."""
        bound = self._bounds.get(ip, self._bounds.get(None))
        if bound is None:
            return 0
        meter = self._meter(ip, bound)
        refusal_ms = meter.record(1, now_ms)
        if refusal_ms:
            meter.take_back(1, now_ms)
        return refusal_ms

    def _meter(self, ip: str, bound: float) -> RateMeter:
        meter = self._by_ip.get(ip)
        if meter is None:
            if len(self._by_ip) >= METERS_MAX:
                # The one that is known for the longest.
                del self._by_ip[next(iter(self._by_ip))]
            meter = self._by_ip[ip] = RateMeter(bound, self._samples, self._window_ms, self._window_ms)
        return meter
