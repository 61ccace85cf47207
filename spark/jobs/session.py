"""A Spark session for a job: the master's choice is left to spark-submit, and is this machine without one."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.java import java_fault
from pyspark_tidelog import ending

# More than end between two looks at a query; each of them is asked for with many small questions to the JVM.
_REMEMBERED_BATCHES = "20"


def open_session(name: str, **settings: str) -> SparkSession:
    """A session; underscores in names of settings stand for dots. Ends the program where Spark cannot run."""
    fault = java_fault()
    if fault:
        sys.exit(fault)
    _prepare_ending()
    # Workers must be the Python that has the data source, not the first one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.streaming.numRecentProgressUpdates", _REMEMBERED_BATCHES)
    if "spark.master" not in settings and not os.environ.get("SPARK_CONF_DIR"):
        builder = builder.master(os.environ.get("SPARK_MASTER", "local[2]"))
        builder = builder.config("spark.sql.shuffle.partitions", "4")
    for key, value in settings.items():
        builder = builder.config(key.replace("_", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    return session


def _prepare_ending() -> None:
    """Queries learn of the program's end through a file; those of a session that is there already do not."""
    if SparkSession.getActiveSession() is None:
        folder = tempfile.mkdtemp(prefix="tidelog-job-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        ending.prepare(Path(folder) / "ending")
