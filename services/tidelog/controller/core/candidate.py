"""Who is the active controller, and when this process should try to be.

    OUT       not registered: nobody could find or watch this process, so it does not stand.
    STANDBY   registered; somebody else is active, or nobody is known to be. A stream to the active one tells if it dies.
    ELECTING  an election transaction is under way; what is seen meanwhile is remembered.
    ACTIVE    elected, with an epoch. Left by whatever shows that the epoch is over.

STANDBY -> ELECTING  /controller is absent; or it names this very id (a former incarnation, dead since this one holds
                     the registration); or the active process was found dead, in which case the election replaces it in
                     one transaction, provided no other election happened since (the epoch's znode version tells).
ELECTING -> ACTIVE   won.   ELECTING -> STANDBY  lost or unknown.
ACTIVE -> STANDBY    /controller shows another owner or another epoch, or a write was refused by epoch.
any -> OUT           the registration or session ended.
"""

from collections.abc import Mapping
from enum import Enum, auto

from tidelog.controller.core.effects import Attend, Effect, Elect, Resign, StartActing, Unattend
from tidelog.controller.core.events import ControllerSeen, Elected
from tidelog.kafka.cluster import Member, Role


class Standing(Enum):
    OUT = auto()
    STANDBY = auto()
    ELECTING = auto()
    ACTIVE = auto()


class Candidate:
    """One controller process in the eternal election."""

    def __init__(self, controller_id: int, *, early_fencing: bool) -> None:
        self.standing = Standing.OUT
        self.controller_epoch = 0
        self._id = controller_id
        self._early_fencing = early_fencing
        self._epoch_zk_version = -1
        self._seen: ControllerSeen | None = None
        self._controllers: Mapping[int, Member] = {}
        self._attended: Member | None = None

    @property
    def active_id(self) -> int | None:
        return self._seen.active_id if self._seen else None

    def on_registered(self) -> list[Effect]:
        if self.standing is not Standing.OUT:
            return []
        self.standing = Standing.STANDBY
        return self._stand()

    def on_registration_lost(self, why: str) -> list[Effect]:
        was, self.standing, self._seen = self.standing, Standing.OUT, None
        return [*self._watch(None), *([Resign(why)] if was is Standing.ACTIVE else [])]

    def on_controller_seen(self, seen: ControllerSeen) -> list[Effect]:
        if self.standing is Standing.ACTIVE and seen.epoch_zk_version < self._epoch_zk_version:
            return []  # Read before our own election; whatever happened since is read again.
        self._seen = seen
        if self.standing is Standing.ACTIVE:
            if seen.active_id == self._id and seen.epoch_zk_version == self._epoch_zk_version:
                return []
            return self._step_down(f"/controller now names {seen.active_id}")
        return self._stand() if self.standing is Standing.STANDBY else []

    def on_controllers_changed(self, members: Mapping[int, Member]) -> list[Effect]:
        self._controllers = members
        return self._follow_active() if self.standing is Standing.STANDBY else []

    def on_presence_lost(self, controller_id: int, epoch: int) -> list[Effect]:
        """The process behind /controller is dead: take over now rather than when its session ends."""
        attended = self._attended
        if attended is None or (attended.id, attended.epoch) != (controller_id, epoch):
            return []
        if not self._early_fencing or self.standing is not Standing.STANDBY or self._seen is None:
            return []
        return [*self._watch(None), *self._elect(Elect(self._seen.epoch_zk_version))]

    def on_elected(self, elected: Elected) -> list[Effect]:
        if self.standing is not Standing.ELECTING:
            return [Resign("elected after the registration ended")]
        self.standing = Standing.ACTIVE
        self.controller_epoch, self._epoch_zk_version = elected.controller_epoch, elected.epoch_zk_version
        self._seen = ControllerSeen(self._id, elected.epoch_zk_version)
        return [*self._watch(None), StartActing(elected.controller_epoch, elected.epoch_zk_version)]

    def on_not_elected(self) -> list[Effect]:
        """Wait for what the watch on /controller shows: what was seen before the election would only fail again."""
        if self.standing is Standing.ELECTING:
            self.standing, self._seen = Standing.STANDBY, None
        return []

    def on_controller_moved(self, controller_epoch: int) -> list[Effect]:
        if self.standing is not Standing.ACTIVE or controller_epoch != self.controller_epoch:
            return []
        return self._step_down(f"controller epoch {controller_epoch} is over")

    def _step_down(self, why: str) -> list[Effect]:
        self.standing = Standing.STANDBY
        return [Resign(why), *self._stand()]

    def _stand(self) -> list[Effect]:
        """As a standby: elect if there is nobody to wait for, else keep an eye on the active one."""
        if self._seen is None:
            return []
        if self._seen.active_id is None:
            return [*self._watch(None), *self._elect(Elect())]
        if self._seen.active_id == self._id:
            return [*self._watch(None), *self._elect(Elect(self._seen.epoch_zk_version))]
        return self._follow_active()

    def _elect(self, how: Elect) -> list[Effect]:
        self.standing = Standing.ELECTING
        return [how]

    def _follow_active(self) -> list[Effect]:
        active = (
            self._controllers.get(self._seen.active_id) if self._seen and self._seen.active_id is not None else None
        )
        return self._watch(active if active and active.id != self._id else None)

    def _watch(self, member: Member | None) -> list[Effect]:
        before, self._attended = self._attended, member
        if before == member:
            return []
        if member is not None:
            return [Attend(Role.CONTROLLER, member)]
        return [Unattend(Role.CONTROLLER, before.id)] if before else []
