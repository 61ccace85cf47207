"""The states of a group, which may follow which, and what each alone answers to a request.

EMPTY                 no members; offsets may exist
PREPARING_REBALANCE   members are being collected: JoinGroup is held back until all have come or the time is up
COMPLETING_REBALANCE  the generation is fixed; SyncGroup is held back until the leader's assignment is stored
STABLE                everyone has an assignment
DEAD                  removed, or its shard went to another coordinator
"""

from collections.abc import Mapping
from enum import StrEnum

from tidelog.kafka.errors import KafkaCode, KafkaError


class GroupState(StrEnum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
DEAD = GroupState.DEAD

PREVIOUS: Mapping[GroupState, frozenset[GroupState]] = {
    EMPTY: frozenset({PREPARING}),
    PREPARING: frozenset({STABLE, COMPLETING, EMPTY}),
    COMPLETING: frozenset({PREPARING}),
    STABLE: frozenset({COMPLETING}),
    DEAD: frozenset(GroupState),
}

# From these a rebalance can begin.
SETTLED = PREVIOUS[PREPARING]


class Asked(StrEnum):
    """The requests whose answer depends on the state of the group."""

    JOIN_KNOWN = "JoinGroup of a member"
    JOIN_NEW = "JoinGroup of a newcomer"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    COMMIT = "OffsetCommit"
    DELETE = "DeleteGroups"


_OK = KafkaCode.NONE
_REJOIN = KafkaCode.REBALANCE_IN_PROGRESS
_UNKNOWN = KafkaCode.UNKNOWN_MEMBER_ID
_NOT_EMPTY = KafkaCode.NON_EMPTY_GROUP
_GONE = KafkaCode.COORDINATOR_NOT_AVAILABLE
_NO_GROUP = KafkaCode.GROUP_ID_NOT_FOUND

# NONE lets the request go on. Member and generation have been looked at by then, so a member of an EMPTY group
# is told that it is unknown before this table is asked. A commit without a generation is for EMPTY groups alone.
ANSWERS: Mapping[Asked, Mapping[GroupState, KafkaCode]] = {
    Asked.JOIN_KNOWN: {EMPTY: _UNKNOWN, PREPARING: _OK, COMPLETING: _OK, STABLE: _OK, DEAD: _GONE},
    Asked.JOIN_NEW: {EMPTY: _OK, PREPARING: _OK, COMPLETING: _OK, STABLE: _OK, DEAD: _GONE},
    Asked.SYNC: {EMPTY: _UNKNOWN, PREPARING: _REJOIN, COMPLETING: _OK, STABLE: _OK, DEAD: _GONE},
    Asked.HEARTBEAT: {EMPTY: _UNKNOWN, PREPARING: _REJOIN, COMPLETING: _OK, STABLE: _OK, DEAD: _GONE},
    Asked.COMMIT: {EMPTY: _OK, PREPARING: _OK, COMPLETING: _REJOIN, STABLE: _OK, DEAD: _GONE},
    Asked.DELETE: {EMPTY: _OK, PREPARING: _NOT_EMPTY, COMPLETING: _NOT_EMPTY, STABLE: _NOT_EMPTY, DEAD: _NO_GROUP},
}


def check_state(asked: Asked, state: GroupState) -> None:
    """Raise what a group in this state answers to the request, unless it may go on."""
    code = ANSWERS[asked][state]
    if code is not _OK:
        raise KafkaError(code)
