"""How fast something happens: rates over sampled windows, and the token bucket, as Kafka measures quotas.

A rate is the sum of the last samples over the time since the oldest of them began. At the beginning that time would be
short and the rate wild, so it is padded as if all windows but the one being filled had passed.
"""

FOREVER_MS = (1 << 31) - 1


class RateWindow:
    """A rate per second over `samples` windows of `window_ms`, the last of which is being filled."""

    __slots__ = ("_expires_ms", "_samples", "_starts", "_sums", "_total", "_window_ms", "last_ms")

    def __init__(self, samples: int = 11, window_ms: int = 1000) -> None:
        self._samples = samples
        self._window_ms = window_ms
        self._expires_ms = samples * window_ms
        self._starts: list[float] = []
        self._sums: list[float] = []
        self._total: float = 0
        self.last_ms: float = 0

    def record(self, value: float, now_ms: float) -> None:
        """Count something; a negative value takes back what was counted before."""
        self.last_ms = now_ms
        if not self._starts or now_ms - self._starts[-1] >= self._window_ms:
            self._begin_sample(now_ms)
        self._sums[-1] += value
        self._total += value

    def rate(self, now_ms: float) -> float:
        """Per second."""
        self._drop_old(now_ms)
        return self._total * 1000 / self.span_ms(now_ms)

    def span_ms(self, now_ms: float) -> float:
        """The time that the rate is taken over."""
        elapsed_ms = now_ms - self._starts[0] if self._starts else 0
        missing = self._samples - 1 - elapsed_ms // self._window_ms
        if missing > 0:
            elapsed_ms += missing * self._window_ms
        return max(elapsed_ms, 1)

    def _begin_sample(self, now_ms: float) -> None:
        self._drop_old(now_ms)
        if len(self._starts) == self._samples:
            self._drop_first(1)
        self._starts.append(now_ms)
        self._sums.append(0)

    def _drop_old(self, now_ms: float) -> None:
        starts = self._starts
        if not starts or now_ms - starts[0] < self._expires_ms:
            return
        old = 1
        while old < len(starts) and now_ms - starts[old] >= self._expires_ms:
            old += 1
        self._drop_first(old)

    def _drop_first(self, count: int) -> None:
        del self._starts[:count]
        del self._sums[:count]
        # Summed anew, so that errors of rounding do not add up over the days.
        self._total = sum(self._sums)


class SpanRate(RateWindow):
    """A rate that is padded to one window only, so that it shows at once; replication is throttled by it."""

    __slots__ = ()

    def span_ms(self, now_ms: float) -> float:
        return max(now_ms - self._starts[0] if self._starts else 0, self._window_ms)


class TokenBucket:
    """Tokens that come at a rate, up to a burst. It may be overdrawn: then it is exceeded until it is refilled to zero."""

    __slots__ = ("_burst_s", "_last_ms", "_tokens", "rate")

    def __init__(self, rate: float, burst_s: float, now_ms: float) -> None:
        """It holds what comes in `burst_s` seconds, and is full at first."""
        self.rate = rate
        self._burst_s = burst_s
        self._tokens = rate * burst_s
        self._last_ms = now_ms

    def take(self, tokens: float, now_ms: float) -> None:
        self._refill(now_ms)
        self._tokens -= tokens

    def missing_ms(self, now_ms: float) -> int:
        """How long until it is refilled to zero; 0 if it is not overdrawn."""
        self._refill(now_ms)
        if self._tokens >= 0:
            return 0
        return round(-self._tokens / self.rate * 1000) if self.rate > 0 else FOREVER_MS

    def _refill(self, now_ms: float) -> None:
        if now_ms > self._last_ms:
            self._tokens = min(self.rate * self._burst_s, self._tokens + self.rate * (now_ms - self._last_ms) / 1000)
            self._last_ms = now_ms
