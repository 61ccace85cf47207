"""What a consumer reads: topics by name or by pattern (shared with its group), or partitions that it names itself."""

import re
from collections.abc import Iterable
from enum import Enum

from tidelog.client.core.cluster import ClusterView
from tidelog.client.errors import IllegalStateError, WrongArgumentError


class Mode(Enum):
    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    PARTITIONS = "partitions"


class Subscription:
    """One of three ways at a time; changing between them needs `unsubscribe`."""

    def __init__(self) -> None:
        self.mode = Mode.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the group decides on the partitions."""
        return self.mode in (Mode.TOPICS, Mode.PATTERN)

    def to_topics(self, topics: Iterable[str]) -> None:
        if isinstance(topics, str):
            raise WrongArgumentError("topics: a list of names is wanted, not one text")
        wanted = frozenset(topics)
        if not all(isinstance(each, str) and each for each in wanted):
            raise WrongArgumentError(f"topics: {sorted(map(str, wanted))} are not all names of topics")
        self._enter(Mode.TOPICS, "subscribe")
        self.topics = wanted

    def to_pattern(self, pattern: str | re.Pattern[str]) -> None:
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise WrongArgumentError(f"pattern: {pattern!r} is not a regular expression: {error}") from None
        self._enter(Mode.PATTERN, "subscribe")
        self.pattern = compiled

    def to_partitions(self) -> None:
        self._enter(Mode.PARTITIONS, "assign")

    def clear(self) -> None:
        self.mode = Mode.NONE
        self.topics = frozenset()
        self.pattern = None

    def match(self, view: ClusterView, *, excludes_internal: bool) -> bool:
        """Take the topics that the pattern matches now; True if they are others than before."""
        assert self.pattern is not None, "asked only of a subscription by pattern"
        matched = frozenset(
            name
            for name, topic in view.topics.items()
            if self.pattern.fullmatch(name) and not topic.error and not (excludes_internal and topic.is_internal)
        )
        changed = matched != self.topics
        self.topics = matched
        return changed

    def _enter(self, mode: Mode, call: str) -> None:
        if self.mode not in (Mode.NONE, mode):
            raise IllegalStateError(f"{call}: the consumer is subscribed to {self.mode.value}; unsubscribe() first")
        self.mode = mode
