"""The JSON document that scripts read, and what is known of a process that has ended."""

import signal

from tests.unit.local.conftest import StartSleeper
from tidelog.local.data_dir import DataDir
from tidelog.local.layout import Counts, Role, lay_out
from tidelog.local.observing import Observed, observe, report, running_pid
from tidelog.local.probing import Probe, Prober

SHAPE = lay_out(Counts(brokers=1, controllers=2, group_coordinators=1, metadata=1))


def test_the_document_has_the_contracted_shape() -> None:
    seen = [
        Observed(
            process, 100 + place, Probe(ready=True, active=process.id == 1 if process.role is Role.CONTROLLER else None)
        )
        for place, process in enumerate(SHAPE.processes)
    ]
    assert report(SHAPE, seen) == {
        "bootstrap": "127.0.0.1:9092",
        "zookeeper": "127.0.0.1:2181",
        "console": "http://127.0.0.1:8080",
        "processes": [
            {"role": "zookeeper", "id": 0, "pid": 100, "ready": True},
            {
                "role": "controller",
                "id": 0,
                "pid": 101,
                "ready": True,
                "grpc": "127.0.0.1:9392",
                "http": "127.0.0.1:9492",
            },
            {
                "role": "controller",
                "id": 1,
                "pid": 102,
                "ready": True,
                "grpc": "127.0.0.1:9393",
                "http": "127.0.0.1:9493",
                "active": True,
            },
            {
                "role": "broker",
                "id": 0,
                "pid": 103,
                "ready": True,
                "kafka": "127.0.0.1:9092",
                "grpc": "127.0.0.1:9192",
                "http": "127.0.0.1:9292",
            },
            {
                "role": "group-coordinator",
                "id": 0,
                "pid": 104,
                "ready": True,
                "kafka": "127.0.0.1:9592",
                "grpc": "127.0.0.1:9692",
                "http": "127.0.0.1:9792",
            },
            {
                "role": "metadata",
                "id": 0,
                "pid": 105,
                "ready": True,
                "grpc": "127.0.0.1:9892",
                "http": "127.0.0.1:8080",
            },
        ],
    }


def test_a_stopped_process_has_no_pid_and_is_not_asked(data_dir: DataDir, sleeper: StartSleeper) -> None:
    (broker,) = SHAPE.of(Role.BROKER)
    child = sleeper(broker)
    prober = Prober(ask=lambda process: Probe(ready=True, reason=str(process)))
    assert [one.process for one in observe(data_dir, SHAPE, prober) if one.pid == child.pid] == [broker]

    child.send_signal(signal.SIGKILL)
    child.wait()
    seen = {str(one.process): one for one in observe(data_dir, SHAPE, prober, {child.pid: child})}
    assert seen["broker 0"].pid is None
    assert not seen["broker 0"].probe.ready
    assert seen["broker 0"].state == "stopped (exit code -9)"
    assert seen["metadata 0"].state == "stopped"
    assert running_pid(data_dir, broker) is None
    prober.close()


def test_states_in_words() -> None:
    (process, *_) = SHAPE.processes
    assert Observed(process, 1, Probe(ready=True, active=True)).state == "ready, active"
    assert Observed(process, 1, Probe(ready=False, reason="no session")).state == "not ready: no session"
