"""The active controller's view of the processes: who is there, who must hear of what, who is to be fenced.

Every process is told everything: an update names all live members. A *bounced* process (same id, larger epoch) lost
whatever it was told before, so its sender is closed and opened anew. One that is *gone* may only have lost ZooKeeper: it
hears on who leads instead of it, for as long as it can be reached. Fencing is asked for once per incarnation; what it
leads to (the registration disappears) comes back as a change of members, like any other death.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.controller.core.effects import Attend, DismissSender, Effect, Fence, OpenSender, Tell, Unattend
from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.types import ControllerEpoch, ControllerId

TOLD = (Role.BROKER, Role.GROUP_COORDINATOR)  # who gets updates; controllers learn from ZooKeeper, observers ask


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two readings of a role's registrations."""

    new: tuple[Member, ...]
    bounced: tuple[Member, ...]
    gone: tuple[int, ...]
    moved: tuple[Member, ...]


def compare(before: Mapping[int, Member], after: Mapping[int, Member]) -> Change:
    """New ids, same ids with another epoch, ids that are gone, and same incarnations with other endpoints."""
    both = [(before[id], after[id]) for id in sorted(before.keys() & after.keys())]
    return Change(
        new=tuple(after[id] for id in sorted(after.keys() - before.keys())),
        bounced=tuple(now for was, now in both if now.epoch != was.epoch),
        gone=tuple(sorted(before.keys() - after.keys())),
        moved=tuple(now for was, now in both if now.epoch == was.epoch and now != was),
    )


class ActiveController:
    """Exists from an election to the resignation; its epoch never changes."""

    def __init__(self, controller_id: int, controller_epoch: int, cluster_id: str, *, early_fencing: bool) -> None:
        self._id = ControllerId(controller_id)
        self._epoch = ControllerEpoch(controller_epoch)
        self._cluster_id = cluster_id
        self._early_fencing = early_fencing
        self._members: dict[Role, Mapping[int, Member]] = {role: {} for role in (*TOLD, Role.CONTROLLER)}
        self._fenced: set[tuple[Role, int, int]] = set()

    def start(self, members: Mapping[Role, Mapping[int, Member]]) -> list[Effect]:
        """Take over with what is registered now: connect to everybody, then tell everybody."""
        effects = [effect for role in self._members for effect in self._take_in(role, members.get(role, {}))]
        return [*effects, Tell(self.snapshot())]

    def on_members_changed(self, role: Role, members: Mapping[int, Member]) -> list[Effect]:
        if self._members[role] == members:
            return []
        return [*self._take_in(role, members), Tell(self.snapshot())]

    def on_presence_lost(self, role: Role, id: int, epoch: int) -> list[Effect]:
        """Fence the incarnation that died, unless it was replaced already or early fencing is switched off."""
        member = self._members[role].get(id)
        if not self._early_fencing or member is None or member.epoch != epoch or (role, id, epoch) in self._fenced:
            return []
        self._fenced.add((role, id, epoch))
        return [Fence(role, id, epoch)]

    def snapshot(self) -> MetadataUpdate:
        """All members; topics are not spoken of, so that whoever knows some keeps them."""
        return MetadataUpdate(
            controller_id=self._id,
            controller_epoch=self._epoch,
            cluster_id=self._cluster_id,
            brokers=self._sorted(Role.BROKER),
            controllers=self._sorted(Role.CONTROLLER),
            coordinators=self._sorted(Role.GROUP_COORDINATOR),
        )

    def _sorted(self, role: Role) -> tuple[Member, ...]:
        return tuple(member for _, member in sorted(self._members[role].items()))

    def _take_in(self, role: Role, members: Mapping[int, Member]) -> list[Effect]:
        change = compare(self._members[role], members)
        self._members[role] = dict(members)
        self._fenced = {known for known in self._fenced if known[0] is not role or known[1] in members}
        effects: list[Effect] = []
        for member in (*change.new, *change.bounced, *change.moved):
            effects += self._connect(role, member)
        for id in change.gone:
            effects += self._disconnect(role, id)
        return effects

    def _connect(self, role: Role, member: Member) -> list[Effect]:
        if role is Role.CONTROLLER:
            return [] if member.id == self._id else [Attend(role, member)]
        return [Attend(role, member), OpenSender(role, member)]

    def _disconnect(self, role: Role, id: int) -> list[Effect]:
        return [Unattend(role, id), *([DismissSender(role, id)] if role in TOLD else [])]
