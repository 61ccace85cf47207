"""The states of partitions and replicas, and which may follow which. The numbers are Kafka's.

A partition is NEW when its assignment is known, ONLINE once it was given a leader, OFFLINE while that leader is dead.
A replica is NEW when created, ONLINE while its broker serves it, OFFLINE otherwise; the DELETION states are passed on its
way out, where INELIGIBLE means that its broker cannot delete it now.
"""

from collections.abc import Mapping
from enum import IntEnum


class PartitionStatus(IntEnum):
    NEW = 0
    ONLINE = 1
    OFFLINE = 2
    NON_EXISTENT = 3


class ReplicaStatus(IntEnum):
    NEW = 1
    ONLINE = 2
    OFFLINE = 3
    DELETION_STARTED = 4
    DELETION_SUCCESSFUL = 5
    DELETION_INELIGIBLE = 6
    NON_EXISTENT = 7


_P = PartitionStatus
PARTITION_PREVIOUS: Mapping[PartitionStatus, frozenset[PartitionStatus]] = {
    _P.NON_EXISTENT: frozenset({_P.OFFLINE}),
    _P.NEW: frozenset({_P.NON_EXISTENT}),
    _P.ONLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.OFFLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
}

_R = ReplicaStatus
REPLICA_PREVIOUS: Mapping[ReplicaStatus, frozenset[ReplicaStatus]] = {
    _R.NEW: frozenset({_R.NON_EXISTENT}),
    _R.ONLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.OFFLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.DELETION_STARTED: frozenset({_R.OFFLINE}),
    _R.DELETION_SUCCESSFUL: frozenset({_R.DELETION_STARTED}),
    _R.DELETION_INELIGIBLE: frozenset({_R.OFFLINE, _R.DELETION_STARTED}),
    _R.NON_EXISTENT: frozenset({_R.DELETION_SUCCESSFUL}),
}
