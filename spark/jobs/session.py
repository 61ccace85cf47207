"""A Spark session for a job: the master's choice is left to spark-submit, and is this machine without one."""

import os
import sys

from pyspark.sql import SparkSession

from jobs.java import java_fault

# More than end between two looks at a query; each of them is asked for with many small questions to the JVM.
_REMEMBERED_BATCHES = "20"


def open_session(name: str, **settings: str) -> SparkSession:
    """A session; underscores in names of settings stand for dots. Ends the program where Spark cannot run."""
    fault = java_fault()
    if fault:
        sys.exit(fault)
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
