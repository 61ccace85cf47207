"""The bounds on groups and on what they commit, as the configuration gives them."""

from dataclasses import dataclass
from typing import Self

from tidelog.kafka.configs.groups import GroupSettings

_MINUTE_MS = 60_000

# A new member does not know its id until its JoinGroup is answered, so it cannot send heartbeats; Kafka gives it this
# long before it takes the client for gone.
NEW_MEMBER_TIMEOUT_MS = 300_000

# Ids are handed out to whoever asks. When so many of one group wait to be used, the oldest is forgotten, and its
# holder starts over.
PENDING_MEMBERS_MAX = 10_000

# A text in a record has a length of 16 bits, and a member's id adds a dash and a UUID to the client's.
TEXT_MAX_BYTES = 32_767 - 64


@dataclass(frozen=True, slots=True)
class GroupLimits:
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2_147_483_647
    offset_metadata_max: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 60 * _MINUTE_MS
    retention_check_interval_ms: int = 10 * _MINUTE_MS

    @classmethod
    def of(cls, config: GroupSettings) -> Self:
        return cls(
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
            max_size=config.group_max_size,
            offset_metadata_max=config.offset_metadata_max_bytes,
            offsets_retention_ms=config.offsets_retention_minutes * _MINUTE_MS,
            retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        )


def is_too_long(text: str, limit: int = TEXT_MAX_BYTES) -> bool:
    """Whether a text has no place in a record; a character takes at most four bytes."""
    return len(text) * 4 > limit and len(text.encode("utf-8", "replace")) > limit
