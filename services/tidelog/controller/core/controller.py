"""One controller process: a candidate at all times, and the active controller while elected. Only dispatches."""

from collections.abc import Mapping

from tidelog.controller.core.active import ActiveController
from tidelog.controller.core.admin import not_active
from tidelog.controller.core.candidate import Candidate, Standing
from tidelog.controller.core.effects import Effect, Resign, StartActing
from tidelog.controller.core.events import (
    AdminRequest,
    ClusterEvent,
    ControllerMoved,
    ControllerSeen,
    Elected,
    Event,
    MembersChanged,
    NotElected,
    PresenceLost,
    Registered,
    RegistrationLost,
)
from tidelog.controller.core.machine import Machine, Queued
from tidelog.controller.core.work import EpochIsOver, Randomness, Settings, Work
from tidelog.kafka.cluster import Member, MetadataUpdate, Role


class Controller:
    """Follows members always; works on topics while active, if it was given the settings and randomness to do so."""

    def __init__(
        self,
        controller_id: int,
        *,
        early_fencing: bool,
        settings: Settings | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        assert (settings is None) == (randomness is None), "work on topics needs both"
        self.cluster_id = ""
        self._settings = settings
        self._randomness = randomness
        self._id = controller_id
        self._early_fencing = early_fencing
        self._candidate = Candidate(controller_id, early_fencing=early_fencing)
        self._active: ActiveController | None = None
        self._machine: Machine | None = None
        # Standbys follow the registrations too: a new active controller starts with what it knows, not with reading.
        self._members: dict[Role, Mapping[int, Member]] = {}

    @property
    def is_active(self) -> bool:
        return self._active is not None

    @property
    def controller_epoch(self) -> int:
        return self._candidate.controller_epoch

    @property
    def active_id(self) -> int | None:
        """Who is active, as far as this process knows."""
        return self._id if self.is_active else self._candidate.active_id

    @property
    def settled(self) -> bool:
        """Registered, and somebody is known to be active."""
        return self._candidate.standing in (Standing.STANDBY, Standing.ACTIVE) and self.active_id is not None

    def members(self, role: Role) -> Mapping[int, Member]:
        return self._members.get(role, {})

    def snapshot(self) -> MetadataUpdate | None:
        """What an observer should know, if this process is the one to tell."""
        if self._machine:
            return self._machine.whole_update()
        return self._active.snapshot() if self._active else None

    @property
    def machine(self) -> Machine | None:
        """The work on topics, while active."""
        return self._machine

    @property
    def offline_partitions(self) -> int:
        """How many partitions have no leader; a standby does not know of any."""
        return len(self._machine.work.context.partitions_without_leaders()) if self._machine else 0

    def on(self, event: Event) -> list[Effect]:
        effects = self._dispatch(event)
        if any(isinstance(effect, Resign) for effect in effects):
            effects += self._machine.abandon() if self._machine else []
            self._active = self._machine = None
        if any(isinstance(effect, StartActing) for effect in effects):
            effects += self._start_acting()
        return effects

    def _dispatch(self, event: Event) -> list[Effect]:
        match event:
            case Registered():
                return self._candidate.on_registered()
            case RegistrationLost(why):
                return self._candidate.on_registration_lost(why)
            case ControllerSeen():
                return self._candidate.on_controller_seen(event)
            case Elected():
                return self._candidate.on_elected(event)
            case NotElected():
                return self._candidate.on_not_elected()
            case ControllerMoved(epoch):
                return self._candidate.on_controller_moved(epoch)
            case MembersChanged(role, members):
                return self._on_members_changed(role, members)
            case PresenceLost(role, id, epoch):
                return self._on_presence_lost(role, id, epoch)
            case _:
                return self._on_cluster_event(event)

    def _start_acting(self) -> list[Effect]:
        epoch = self._candidate.controller_epoch
        self._active = ActiveController(self._id, epoch, self.cluster_id, early_fencing=self._early_fencing)
        effects = self._active.start(self._members)
        if self._settings is None or self._randomness is None:
            return effects
        self._machine = Machine(Work(epoch, self._settings, self._randomness, self._active.snapshot))
        return [*effects, *self._machine.start(self._members)]

    def _on_cluster_event(self, event: ClusterEvent) -> list[Effect]:
        if self._machine is None:
            return [not_active(event)] if isinstance(event, AdminRequest) else []
        return self._work(event)

    def _work(self, event: Queued) -> list[Effect]:
        assert self._machine is not None, "only the active controller works"
        try:
            return self._machine.on(event)
        except EpochIsOver:
            return self._candidate.on_controller_moved(self._candidate.controller_epoch)

    def _on_members_changed(self, role: Role, members: Mapping[int, Member]) -> list[Effect]:
        self._members[role] = members
        effects = self._candidate.on_controllers_changed(members) if role is Role.CONTROLLER else []
        effects += self._active.on_members_changed(role, members) if self._active else []
        if self._machine and role is not Role.CONTROLLER:
            effects += self._work(MembersChanged(role, members))
        return effects

    def _on_presence_lost(self, role: Role, id: int, epoch: int) -> list[Effect]:
        if self._active:
            return self._active.on_presence_lost(role, id, epoch)
        return self._candidate.on_presence_lost(id, epoch) if role is Role.CONTROLLER else []
