"""What the outside sees of a controller: readiness, who is active, and metrics under Kafka's names."""

from tidelog.controller.core.controller import Controller
from tidelog.kafka.cluster import Role
from tidelog.runtime.process import Process

CONDITION = "controller"


class Reporting:
    """Brings readiness and metrics up to date with the core."""

    def __init__(self, core: Controller, process: Process) -> None:
        self._core = core
        self._readiness = process.readiness
        self._active = process.metrics.gauge(
            "kafka_controller_kafkacontroller_activecontrollercount", "1 in the active controller, 0 in the others."
        )
        self._epoch = process.metrics.gauge(
            "tidelog_controller_epoch", "The epoch of this controller's last election; 0 before the first."
        )
        self._brokers = process.metrics.gauge(
            "kafka_controller_kafkacontroller_activebrokercount", "Brokers registered, as this controller sees them."
        )
        self._readiness.expect(CONDITION, "nobody is known to be the active controller yet")

    def refresh(self) -> None:
        self._active.set(int(self._core.is_active))
        self._epoch.set(self._core.controller_epoch)
        self._brokers.set(len(self._core.members(Role.BROKER)))
        self._readiness.detail["active"] = self._core.is_active
        if self._core.settled:
            self._readiness.ok(CONDITION)
        else:
            self._readiness.not_ready(CONDITION, "nobody is known to be the active controller")
