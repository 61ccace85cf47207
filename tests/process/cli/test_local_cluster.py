"""Commands that kill and start processes of the cluster on this machine."""

import json

from tests.support.command_line import LocalCluster
from tests.support.waiting import eventually


def healthy(local: LocalCluster) -> None:
    done = local.shell("health", "--wait", "--brokers", "3", "--timeout", "90")
    assert done.code == 0, done.out + done.err


def test_a_killed_broker_is_missed_and_comes_back(local: LocalCluster) -> None:
    assert local.shell("topics", "create", "watched", "-p", "3", "-r", "3").code == 0
    assert local.shell("kill", "broker", "1").code == 0
    eventually(lambda: 1 in json.loads(local.shell("health", "--json").out)["missing_brokers"], seconds=60)
    assert local.shell("health").code == 1
    assert local.shell("start", "broker", "1").code == 0
    healthy(local)


def test_chaos_kills_and_starts_again(local: LocalCluster) -> None:
    done = local.shell("chaos", "kill", "--every", "1s", "--count", "2", "--down-for", "500ms", "--seed", "1")
    assert done.code == 0, done.err
    assert done.out.count("Sent SIGKILL to broker") == 2
    assert done.out.count("is ready again") == 2
    assert done.lines[-1] == "2 kills."
    options = (
        "--role",
        "group-coordinator",
        "--role",
        "controller",
        "--down-for",
        "500ms",
        "--count",
        "1",
        "--seed",
        "7",
    )
    assert local.shell("chaos", "kill", "--every", "1s", *options).code == 0
    healthy(local)


def test_failover_loses_nothing(local: LocalCluster) -> None:
    healthy(local)
    document = local.shell("demo", "failover", "--seconds", "3", "--json").document
    assert document["lost"] == 0
    assert document["acknowledged"] > 100
    events = [each["event"] for each in document["timeline"]]
    assert any(event.startswith("killed broker") for event in events)
    assert any(event.endswith(" leads") for event in events)
    healthy(local)
