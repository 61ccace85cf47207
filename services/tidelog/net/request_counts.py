"""What is counted of requests, by API: plain numbers on the way of a request, read when metrics are scraped.

The life of a request is cut into phases, each told in nanoseconds:

- queue: from when its bytes were read until it was taken up, because others came with the same read or because its
  connection was held (a throttled client, too many answers under way).
- local: until it was answered or began to wait.
- remote: while it waited for somebody else: for other replicas, for data, for the controller.
- answer queue: while its answer waited behind the answers to earlier requests of its connection.
- send: until the socket had taken the last byte of it.
- throttle: for how long its client was told to wait afterwards; this one is no part of the total.

A phase that took no time is not noted: how many there were follows from the number of answers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.net.served import RequestContext

# The longest time is 2^63 ns, some hundred years.
_BITS = 64


_TALLIED = ("total", "queue", "remote", "answer_queue", "send", "throttle")


class Tally:
    """How many values there were of each number of bits, which is the cheapest way to sort them, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * _BITS
        self.sum = 0

    def note(self, value: int) -> None:
        self.counts[value.bit_length()] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)


class ApiCounts:
    """The requests of one API, or of one kind of them."""

    __slots__ = (
        "answer_bytes",
        "answer_queue",
        "errors",
        "kinds",
        "local_counts",
        "name",
        "queue",
        "remote",
        "request_bytes",
        "requests",
        "send",
        "throttle",
        "total",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests: defaultdict[int, int] = defaultdict(int)
        self.errors: defaultdict[int, int] = defaultdict(int)
        self.total, self.queue, self.remote = Tally(), Tally(), Tally()
        self.answer_queue, self.send, self.throttle = Tally(), Tally(), Tally()
        self.local_counts = [0] * _BITS
        self.request_bytes = self.answer_bytes = 0
        # Kinds of requests that are told apart, by name; what is counted of one is not counted here.
        self.kinds: dict[str, ApiCounts] = {}

    def kind(self, name: str) -> ApiCounts:
        found = self.kinds.get(name)
        if found is None:
            found = self.kinds[name] = ApiCounts(name)
        return found

    def together(self) -> ApiCounts:
        """With what is counted by kind; a copy if there are any."""
        if not self.kinds:
            return self
        everything = ApiCounts(self.name)
        for one in (self, *self.kinds.values()):
            everything.add(one)
        return everything

    def add(self, other: ApiCounts) -> None:
        for version, count in other.requests.items():
            self.requests[version] += count
        for code, count in other.errors.items():
            self.errors[code] += count
        self.request_bytes += other.request_bytes
        self.answer_bytes += other.answer_bytes
        self.local_counts = _added(self.local_counts, other.local_counts)
        for phase in _TALLIED:
            own, more = getattr(self, phase), getattr(other, phase)
            own.counts = _added(own.counts, more.counts)
            own.sum += more.sum

    @property
    def local(self) -> Tally:
        local = Tally()
        local.counts = list(self.local_counts)
        others = (self.queue, self.remote, self.answer_queue, self.send)
        local.sum = self.total.sum - sum(other.sum for other in others)
        return local

    def on_answered(self, request: RequestContext, sent_ns: int) -> None:
        """The last byte of the answer left, or there was nothing to answer. Called for every request."""
        started_ns, ready_ns, received_ns = request.started_ns, request.ready_ns, request.received_ns
        passed_on_ns, deferred_ns = request.passed_on_ns, request.deferred_ns
        self.requests[request.version] += 1
        self.request_bytes += request.size
        self.answer_bytes += request.answer_size
        # The phases that every request has are written out: a call for each would cost as much again.
        tally, took_ns = self.total, sent_ns - received_ns
        tally.counts[took_ns.bit_length()] += 1
        tally.sum += took_ns
        tally, took_ns = self.send, sent_ns - passed_on_ns
        tally.counts[took_ns.bit_length()] += 1
        tally.sum += took_ns
        # The sum of this one is what the others leave of the total.
        self.local_counts[((deferred_ns or ready_ns) - started_ns).bit_length()] += 1
        if started_ns > received_ns:
            self.queue.note(started_ns - received_ns)
        if deferred_ns:
            self.remote.note(ready_ns - deferred_ns)
        if passed_on_ns > ready_ns:
            self.answer_queue.note(passed_on_ns - ready_ns)
        if request.throttle_ms:
            self.throttle.note(request.throttle_ms * 1_000_000)


def _added(some: list[int], more: list[int]) -> list[int]:
    return [one + other for one, other in zip(some, more, strict=True)]


class RequestCounts:
    """All APIs that a process serves."""

    def __init__(self) -> None:
        self.apis: dict[str, ApiCounts] = {}

    def of(self, api_name: str) -> ApiCounts:
        found = self.apis.get(api_name)
        if found is None:
            found = self.apis[api_name] = ApiCounts(api_name)
        return found
