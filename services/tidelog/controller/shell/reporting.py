"""What the outside sees of a controller: readiness, who is active, its log, and metrics under Kafka's names."""

from tidelog.controller.core.controller import Controller
from tidelog.controller.core.effects import Note, What
from tidelog.kafka.cluster import Role
from tidelog.runtime import logs
from tidelog.runtime.process import Process

CONDITION = "controller"

_WARNINGS = {What.UNCLEAN_ELECTION, What.RESIGNED}

_logger = logs.get("controller")


class Reporting:
    """Brings readiness and metrics up to date with the core."""

    def __init__(self, core: Controller, process: Process) -> None:
        self._core = core
        self._readiness = process.readiness
        metrics = process.metrics
        self._active = metrics.gauge(
            "kafka_controller_kafkacontroller_activecontrollercount", "1 in the active controller, 0 in the others."
        )
        self._epoch = metrics.gauge(
            "tidelog_controller_epoch", "The epoch of this controller's last election; 0 before the first."
        )
        self._brokers = metrics.gauge(
            "kafka_controller_kafkacontroller_activebrokercount", "Brokers registered, as this controller sees them."
        )
        offline = metrics.gauge(
            "kafka_controller_kafkacontroller_offlinepartitionscount",
            "Partitions without a leader, as the active controller sees them; 0 in the others.",
        )
        # Counted when it is asked for: it takes a look at every partition.
        offline.set_function(lambda: core.offline_partitions)
        self._happenings = metrics.counter(
            "tidelog_controller_happenings_total",
            "What the controller did or saw, by kind and cause.",
            ("what", "cause"),
        )
        self._unclean = metrics.counter(
            "kafka_controller_controllerstats_uncleanleaderelections_total", "Leaders elected that were not in sync."
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

    def note(self, note: Note) -> None:
        """One log line and one count for each happening; losing records is worth a warning."""
        what = note.what
        self._happenings.labels(what.value, note.cause).inc()
        if what is What.UNCLEAN_ELECTION:
            self._unclean.inc()
        log = _logger.warning if what in _WARNINGS else _logger.info
        told = {"why": note.why, "cause": note.cause if note.cause != note.why else ""}
        log(what.value, subject=note.subject, **{key: value for key, value in told.items() if value})
