"""Taking down: in order, bounded, and only what is ours."""

import signal

from tests.unit.local.conftest import STOPPED, StartSleeper
from tidelog.local.data_dir import DataDir
from tidelog.local.layout import Counts, LocalProcess, Role, lay_out
from tidelog.local.pids import ProcessRef, save_ref
from tidelog.local.stopping import take_down

SHAPE = lay_out(Counts(brokers=1, controllers=1, group_coordinators=1, metadata=1))


def test_processes_end_in_the_order_in_which_they_can_hand_over(data_dir: DataDir, sleeper: StartSleeper) -> None:
    children = [sleeper(process) for process in SHAPE.processes]
    order: list[tuple[Role, bool]] = []
    stopped = take_down(
        data_dir, SHAPE, grace_s=30, on_stopped=lambda process, killed: order.append((process.role, killed))
    )
    assert order == [
        (role, False) for role in (Role.METADATA, Role.GROUP_COORDINATOR, Role.BROKER, Role.CONTROLLER, Role.ZOOKEEPER)
    ]
    assert not stopped.killed
    assert {child.wait() for child in children} == {STOPPED}
    assert not any(data_dir.pid_file(process).exists() for process in SHAPE.processes)


def test_what_does_not_stop_in_time_is_killed(data_dir: DataDir, sleeper: StartSleeper) -> None:
    (broker,) = SHAPE.of(Role.BROKER)
    child = sleeper(broker, deaf=True)
    stopped = take_down(data_dir, SHAPE, grace_s=0.1)
    assert stopped.killed == [broker]
    assert child.wait() == -signal.SIGKILL


def test_somebody_in_a_hurry_does_not_wait_for_the_grace(data_dir: DataDir, sleeper: StartSleeper) -> None:
    child = sleeper(SHAPE.of(Role.BROKER)[0], deaf=True)
    take_down(data_dir, SHAPE, grace_s=3600, hurry=lambda: True)
    assert child.wait() == -signal.SIGKILL


def test_a_frozen_process_stops_too(data_dir: DataDir, sleeper: StartSleeper) -> None:
    child = sleeper(SHAPE.of(Role.BROKER)[0])
    child.send_signal(signal.SIGSTOP)
    assert not take_down(data_dir, SHAPE, grace_s=30).killed
    assert child.wait() == STOPPED


def test_a_recycled_process_id_is_left_alone(data_dir: DataDir, sleeper: StartSleeper) -> None:
    (broker,) = SHAPE.of(Role.BROKER)
    child = sleeper(broker)
    save_ref(data_dir.pid_file(broker), ProcessRef(child.pid, "an earlier start"))
    stopped = take_down(data_dir, SHAPE, grace_s=0)
    assert not stopped.ended
    assert not stopped.killed
    assert child.poll() is None


def test_nothing_running_is_nothing_to_do(data_dir: DataDir) -> None:
    heard: list[LocalProcess] = []
    take_down(data_dir, SHAPE, grace_s=0, on_stopped=lambda process, _: heard.append(process))
    assert heard == []
