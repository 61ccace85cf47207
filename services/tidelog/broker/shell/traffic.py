"""What went in and out, by topic: plain numbers on the hot path, read when metrics are scraped."""

from __future__ import annotations

from collections import Counter


class Traffic:
    """The counters of one topic. Nothing is ever taken back."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
        "replication_bytes_in",
        "replication_bytes_out",
        "truncations",
    )

    def __init__(self) -> None:
        self.bytes_in = self.bytes_out = self.messages_in = 0
        self.replication_bytes_in = self.replication_bytes_out = 0
        # By cause.
        self.truncations: Counter[str] = Counter()
        self.produces = self.fetches = self.failed_produces = self.failed_fetches = 0


class TrafficByTopic:
    """One Traffic for each topic that is hosted, and one for requests that named none of them."""

    def __init__(self) -> None:
        self.topics: dict[str, Traffic] = {}
        # Clients may name anything: what is not hosted is counted together, so that series cannot grow without end.
        self.unknown = Traffic()

    def of(self, topic: str) -> Traffic:
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = Traffic()
        return found

    def forget(self, topic: str) -> None:
        self.topics.pop(topic, None)
