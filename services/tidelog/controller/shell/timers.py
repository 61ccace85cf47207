"""What happens by itself as time passes: the controller's clock ticks, and its rounds."""

from tidelog.controller.core.events import ElectionsDue, RebalanceDue, Ticked
from tidelog.controller.shell.acting import Acting
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.runtime.process import Process

# Answers that wait are looked at this often; their timeouts are seconds.
_TICK_MS = 50
# Kafka's delay from the start of a controller to its first look at leaders that are not preferred.
_FIRST_REBALANCE_MS = 5_000


def start_timers(acting: Acting, config: ControllerConfig, process: Process) -> None:
    """Until the process ends. A controller that is not active ignores all of it."""

    def tick() -> None:
        if acting.desk.is_busy:
            acting.post(Ticked(deadline_clock(process)))

    process.timers.every(_TICK_MS, tick)
    process.timers.every(config.unclean_leader_election_interval_ms, lambda: acting.post(ElectionsDue()))
    if config.auto_leader_rebalance_enable:
        interval_ms = config.leader_imbalance_check_interval_seconds * 1000
        process.timers.after(_FIRST_REBALANCE_MS, lambda: acting.post(RebalanceDue()))
        process.timers.every(interval_ms, lambda: acting.post(RebalanceDue()))


def deadline_clock(process: Process) -> int:
    """The clock of deadlines, which nobody can set back."""
    return int(process.clock.monotonic_ms())
