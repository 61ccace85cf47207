"""The pipeline profile on Kubernetes: pods are deleted under a load, and every page view is counted exactly once."""

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.client import POD, Client
from tests.e2e.kube import CHART, FULLNAME, RELEASE, ROOT, Kube, until

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.timeout(1800)

_SOURCE, _TARGET = "pageviews", "pageviews-per-minute"
_VALUES = ("--values", str(CHART / "values-pipeline.yaml"), "--values", str(ROOT / "tests/e2e_spark/values.yaml"))
_SCRIPT = "/tmp/feeding.py"
_FEED_S, _RATE = 420, 50
_WAIT_S = 240.0
_EXPORTED = "import pyarrow.dataset as d; print(d.dataset('/var/lib/spark/exported').count_rows())"
_BATCH = [{"name": "by-day", "job": "export", "args": ["--path", "/var/lib/spark/exported"]}]
Tell = Callable[[str], None]


class Pipeline:
    """The driver and its executors, and what they have counted."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self.feeding: subprocess.Popen[str] | None = None
        self.sent = 0

    def feed(self) -> None:
        Client(self._kube).start()
        text = (ROOT / "tests" / "e2e_spark" / "feeding.py").read_text()
        self._kube.exec(POD, "sh", "-c", f"cat >{_SCRIPT}", text=text)
        arguments = ["python", _SCRIPT, "feed", _SOURCE, str(_FEED_S), str(_RATE)]
        self.feeding = self._kube.start("exec", POD, "--", *arguments)

    def finish_feeding(self) -> None:
        assert self.feeding is not None, "not fed"
        out, err = self.feeding.communicate(timeout=_FEED_S + 120)
        assert self.feeding.returncode == 0, err
        self.sent = json.loads(out.splitlines()[-1])["sent"]

    def call(self, *arguments: str) -> Any:
        return json.loads(self._kube.exec(POD, "python", _SCRIPT, *arguments))

    def counts(self) -> dict[str, list[int]]:
        return dict(self.call("counts", _TARGET))

    def total(self) -> int:
        return sum(each[-1] for each in self.counts().values())

    def advance_s(self, by: int = 100) -> float:
        """Wait until more is counted than now, and tell how long that took."""
        before = self.total()
        return until(lambda: self.total() >= before + by, _WAIT_S, lambda: f"it stays at {before}: {self.log()}")

    def pod(self, component: str) -> str:
        """The running pod; there is one."""
        chosen = f"app.kubernetes.io/component={component}"
        found: list[str] = []

        def has_one() -> bool:
            pods = self._kube.get("pods", "--selector", chosen)["items"]
            found[:] = [
                each["metadata"]["name"]
                for each in pods
                if each["status"]["phase"] == "Running" and "deletionTimestamp" not in each["metadata"]
            ]
            return bool(found)

        until(has_one, _WAIT_S, lambda: f"no {component} runs: {self.log()}")
        return found[0]

    def log(self) -> str:
        return self._kube.kubectl("logs", f"deployment/{FULLNAME}-spark-driver", "--tail=30")


@pytest.fixture(scope="module")
def pipeline(kube: Kube) -> Pipeline:
    return Pipeline(kube)


def test_install_of_the_pipeline_profile(kube: Kube, pipeline: Pipeline, tell: Tell) -> None:
    began = time.monotonic()
    kube.helm("install", RELEASE, str(CHART), *_VALUES, "--wait", "--timeout", "10m")
    kube.wait_until_settled()
    pipeline.feed()
    pipeline.pod("spark-executor")
    until(lambda: pipeline.total() > 0, _WAIT_S, pipeline.log)
    tell(f"helm install of profile pipeline to the first count: {time.monotonic() - began:.0f} s")


def test_an_executor_is_deleted(kube: Kube, pipeline: Pipeline, tell: Tell) -> None:
    kube.delete_pod(pipeline.pod("spark-executor"), force=True)
    tell(f"executor deleted by force: counting went on after {pipeline.advance_s():.0f} s")


def test_the_leading_broker_is_deleted(kube: Kube, pipeline: Pipeline, tell: Tell) -> None:
    kube.delete_pod(f"{FULLNAME}-broker-{pipeline.call('leader', _SOURCE)}", force=True)
    tell(f"leading broker deleted by force: counting went on after {pipeline.advance_s():.0f} s")


def test_the_driver_is_deleted_by_force(kube: Kube, pipeline: Pipeline, tell: Tell) -> None:
    kube.delete_pod(pipeline.pod("spark-driver"), force=True)
    tell(f"driver deleted by force: counting went on after {pipeline.advance_s():.0f} s")


def test_the_driver_ends_after_its_batch_when_it_is_asked(kube: Kube, pipeline: Pipeline, tell: Tell) -> None:
    driver = pipeline.pod("spark-driver")
    following = kube.start("logs", "--follow", "--tail=0", driver)
    kube.delete_pod(driver)
    out, _ = following.communicate(timeout=120)
    assert "activity: stopped after its batch" in out
    tell(f"driver deleted gracefully: counting went on after {pipeline.advance_s():.0f} s")


def test_queries_and_spark_have_metrics(kube: Kube, pipeline: Pipeline, tell: Tell) -> None:
    driver = pipeline.pod("spark-driver")
    until(lambda: kube.metric(driver, 9404, "tidelog_pipeline_rows_total") > 0, 60)
    assert kube.metric(driver, 9404, "tidelog_pipeline_checkpoint_age_seconds") < _WAIT_S
    assert "spark_streaming" in kube.raw(f"pods/{driver}:4040/proxy/metrics/prometheus/")
    tell("metrics of the query on port 9404, Spark's own on 4040")


def test_everything_was_counted_exactly_once(pipeline: Pipeline, tell: Tell) -> None:
    pipeline.finish_feeding()
    sent = pipeline.sent
    until(lambda: pipeline.total() >= sent, _WAIT_S, lambda: f"{pipeline.total()} of {sent}: {pipeline.log()}")
    counts = pipeline.counts()
    assert sum(each[-1] for each in counts.values()) == sent
    # A count that came twice would have been written twice.
    assert all(each == sorted(set(each)) for each in counts.values())
    tell(f"{sent} page views, each counted once, in {sum(map(len, counts.values()))} updates")


def test_a_batch_job_runs_beside_the_driver(kube: Kube, pipeline: Pipeline, tell: Tell) -> None:
    kube.helm("upgrade", RELEASE, str(CHART), *_VALUES, "--set-json", f"spark.batchJobs={json.dumps(_BATCH)}")
    kube.kubectl("wait", "--for=condition=Complete", f"job/{FULLNAME}-spark-by-day", "--timeout=300s")
    exported = int(kube.exec(pipeline.pod("spark-driver"), "python3", "-c", _EXPORTED))
    assert exported == pipeline.sent
    tell(f"batch job: {exported} records exported to Parquet")
