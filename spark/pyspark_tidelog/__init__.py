"""The Spark data source `tidelog`: topics as tables and streams, with the columns and options of Spark's own Kafka source.

Spark looks into packages whose names begin with `pyspark_` for a `DefaultSource`, so `format("tidelog")` works without
registering anything.
"""

from pyspark_tidelog.source import TidelogDataSource

DefaultSource = TidelogDataSource

__all__ = ["DefaultSource", "TidelogDataSource"]
