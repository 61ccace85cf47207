"""How the partitions of topics are shared among the members of a group."""

from tidelog.client.core.assignors.assignor import Assignor, MemberSubscription
from tidelog.client.core.assignors.named import make_assignors
from tidelog.client.core.assignors.racks import PartitionCounts
from tidelog.client.core.assignors.range_assignor import RangeAssignor
from tidelog.client.core.assignors.round_robin import RoundRobinAssignor
from tidelog.client.core.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

__all__ = [
    "Assignor",
    "CooperativeStickyAssignor",
    "MemberSubscription",
    "PartitionCounts",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "make_assignors",
]
