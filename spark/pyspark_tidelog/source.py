"""The data source itself: names its columns, checks its options, and makes readers and writers."""

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from pyspark_tidelog.columns import check_wanted, table_schema
from pyspark_tidelog.option_values import as_boolean
from pyspark_tidelog.options import read_reader_options, read_writer_options
from pyspark_tidelog.reader import TidelogReader
from pyspark_tidelog.rows import check_columns
from pyspark_tidelog.stream_reader import TidelogStreamReader
from pyspark_tidelog.writer import TidelogStreamWriter, TidelogWriter


class TidelogDataSource(DataSource):
    """`format("tidelog")`."""

    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> StructType:
        headers = as_boolean("includeHeaders", self.options.get("includeHeaders", "false"))
        return table_schema(include_headers=headers)

    def reader(self, schema: StructType) -> TidelogReader:
        return TidelogReader(read_reader_options(self.options, is_stream=False), check_wanted(schema))

    def streamReader(self, schema: StructType) -> TidelogStreamReader:  # noqa: N802  Spark's name
        return TidelogStreamReader(read_reader_options(self.options, is_stream=True), check_wanted(schema))

    def writer(self, schema: StructType, overwrite: bool) -> TidelogWriter:  # noqa: ARG002
        options = read_writer_options(self.options)
        check_columns(schema, options.topic)
        return TidelogWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> TidelogStreamWriter:  # noqa: ARG002, N802
        options = read_writer_options(self.options)
        check_columns(schema, options.topic)
        return TidelogStreamWriter(options)
