"""From `partition.assignment.strategy` to assignors."""

from collections.abc import Iterable, Sequence

from tidelog.client.core.assignors.assignor import Assignor
from tidelog.client.core.assignors.range_assignor import RangeAssignor
from tidelog.client.core.assignors.round_robin import RoundRobinAssignor
from tidelog.client.core.assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from tidelog.client.errors import ConfigError

_OURS: tuple[type[Assignor], ...] = (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)


def make_assignors(names: Sequence[str], own: Iterable[Assignor] = ()) -> list[Assignor]:
    """The assignors of these names, the liked best first; own ones come before, unless they are named, too."""
    by_name: dict[str, Assignor] = {each.name: each() for each in _OURS}
    given = list(own)
    by_name |= {each.name: each for each in given}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise ConfigError(
            f"partition.assignment.strategy={','.join(names)} names {', '.join(unknown)}: "
            f"the assignors are {', '.join(by_name)}"
        )
    unnamed = [each for each in given if each.name not in names]
    return unnamed or [by_name[name] for name in names]
