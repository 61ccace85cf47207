"""Readiness, metrics, and what the ops endpoints say about them."""

import json
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tidelog.runtime import metrics
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.metrics import LOOP_PROBE_INTERVAL_MS, LoopLag, Metrics
from tidelog.runtime.ops_pages import OpsPages
from tidelog.runtime.readiness import Readiness
from tidelog.runtime.timers import ManualTimers


def samples(exposition: bytes) -> dict[str, float]:
    """Sample values by name and labels, as name{key=value}."""
    found = {}
    for family in text_string_to_metric_families(exposition.decode()):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


@pytest.fixture
def readiness() -> Readiness:
    return Readiness()


def test_without_any_condition_nothing_is_ready(readiness: Readiness) -> None:
    assert not readiness.ready


def test_ready_when_every_condition_holds(readiness: Readiness) -> None:
    readiness.expect("registered", "waiting for ZooKeeper")
    readiness.expect("metadata", "waiting for the controller")
    readiness.ok("registered")
    assert not readiness.ready
    assert readiness.reasons == {"metadata": "waiting for the controller"}
    readiness.ok("metadata")
    assert readiness.report()["ready"] is True
    readiness.not_ready("registered", "the session is suspended")
    assert readiness.report() == {
        "ready": False,
        "conditions": {"registered": {"ok": False, "why": "the session is suspended"}, "metadata": {"ok": True}},
    }


def test_listeners_hear_of_flips_only(readiness: Readiness) -> None:
    heard: list[bool] = []
    unsubscribe = readiness.on_change(heard.append)
    readiness.expect("a", "wait")
    readiness.ok("a")
    readiness.ok("a")
    readiness.expect("b", "wait")
    readiness.not_ready("b", "still")
    unsubscribe()
    readiness.ok("b")
    assert heard == [True, False]


def test_a_condition_nobody_expected_is_a_bug(readiness: Readiness) -> None:
    for change in (readiness.ok, lambda name: readiness.not_ready(name, "why")):
        with pytest.raises(AssertionError, match="never expected"):
            change("registred")


def pages(readiness: Readiness, heartbeat_age_ms: Callable[[], float] = lambda: 12.34) -> OpsPages:
    return OpsPages(readiness, Metrics("broker", "1.2.3"), heartbeat_age_ms)


def test_readyz_says_503_with_reasons_then_200(readiness: Readiness) -> None:
    readiness.expect("registered", "waiting for ZooKeeper at z:2181")
    answer = pages(readiness).respond("/readyz")
    assert (answer.status, answer.content_type) == (503, "application/json")
    assert json.loads(answer.body)["conditions"]["registered"]["why"] == "waiting for ZooKeeper at z:2181"
    readiness.ok("registered")
    answer = pages(readiness).respond("/readyz")
    assert (answer.status, json.loads(answer.body)["ready"]) == (200, True)


def test_livez_tells_the_age_of_the_heartbeat(readiness: Readiness) -> None:
    answer = pages(readiness).respond("/livez")
    assert (answer.status, json.loads(answer.body)) == (200, {"alive": True, "heartbeat_age_ms": 12.3})


def test_metrics_page_is_prometheus_text(readiness: Readiness) -> None:
    answer = pages(readiness).respond("/metrics")
    assert (answer.status, answer.content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = samples(answer.body)
    assert found["tidelog_build_info{role=broker,version=1.2.3}"] == 1
    assert found["process_resident_memory_bytes"] > 0
    assert found["process_open_fds"] > 0
    assert any(name.startswith("python_gc_collections_total") for name in found)


def test_unknown_paths_are_404(readiness: Readiness) -> None:
    answer = pages(readiness).respond("/../etc/passwd")
    assert answer.status == 404
    assert b"/readyz" in answer.body


def test_metrics_of_one_process_have_one_registry_without_created_series() -> None:
    ours = Metrics("broker", "1")
    requests = ours.counter("tidelog_requests_total", "Requests.", ("api",))
    requests.labels("Produce").inc(3)
    ours.gauge("tidelog_depth", "Depth.").set(4)
    ours.histogram("tidelog_wait_seconds", "Wait.", buckets=(0.1, 1.0)).observe(0.5)
    found = samples(ours.render())
    assert found["tidelog_requests_total{api=Produce}"] == 3
    assert found["tidelog_depth"] == 4
    assert found["tidelog_wait_seconds_bucket{le=1.0}"] == 1
    assert not any(name.startswith("tidelog_") and "_created" in name for name in found)
    assert "tidelog_depth" not in samples(Metrics("broker", "1").render())


def test_the_same_name_twice_is_refused() -> None:
    ours = Metrics("broker", "1")
    ours.gauge("tidelog_depth", "Depth.")
    with pytest.raises(ValueError, match="Duplicated"):
        ours.gauge("tidelog_depth", "Depth.")


def test_loop_lag_is_how_late_the_periodic_callback_runs() -> None:
    clock = ManualClock()
    timers = ManualTimers(clock)
    ours = Metrics("broker", "1")
    lag = LoopLag(ours, clock, timers)
    lag.start()
    clock.advance(LOOP_PROBE_INTERVAL_MS)
    assert lag.heartbeat_age_ms() == 0
    # The next callback comes 40 ms late, because something on the loop took that long.
    timers.after(LOOP_PROBE_INTERVAL_MS - 1, lambda: late(clock, 41))
    clock.advance(LOOP_PROBE_INTERVAL_MS)
    lag.stop()
    found = samples(ours.render())
    assert found["tidelog_event_loop_lag_seconds_count"] == 2
    assert found["tidelog_event_loop_lag_seconds_sum"] == pytest.approx(0.04)


def late(clock: ManualClock, ms: float) -> None:
    """Time passes without any callback having its turn."""
    clock._move_to(clock.monotonic_ms() + ms)


def test_a_source_tree_without_an_installation_still_has_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(metrics, "version", missing)
    assert metrics.installed_version() == "unknown"
