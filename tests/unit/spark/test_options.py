"""Options of the data source: what is understood, and the sentence for what is not."""

from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from pyspark_tidelog.columns import check_wanted, table_schema
from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.options import ReaderOptions, WriterOptions, read_reader_options, read_writer_options
from pyspark_tidelog.places import EARLIEST, LATEST, AtOffsets, AtTimes
from pyspark_tidelog.rows import check_columns
from tidelog.client.records import TopicPartition

_SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:9092"}


def reader(*, is_stream: bool = False, **given: str) -> ReaderOptions:
    options = {**_SERVERS, **({} if {"assign", "subscribePattern"} & given.keys() else {"subscribe": "t"}), **given}
    return read_reader_options(options, is_stream=is_stream)


def writer(**given: str) -> WriterOptions:
    return read_writer_options({**_SERVERS, "topic": "t", **given})


def test_defaults_are_those_of_sparks_own_source() -> None:
    batch, stream = reader(), reader(is_stream=True)
    assert (batch.starting, batch.ending) == (EARLIEST, LATEST)
    assert stream.starting == LATEST
    assert batch.topics == ("t",)
    assert batch.fail_on_data_loss
    assert (batch.offset_retries, batch.offset_retry_interval_ms) == (3, 10)
    assert not batch.include_headers


def test_every_option_is_understood_whatever_its_case() -> None:
    found = reader(
        is_stream=True,
        STARTINGOFFSETS='{"t": {"0": 5, "1": -2}}',
        failondataloss="FALSE",
        maxOffsetsPerTrigger="100",
        minOffsetsPerTrigger="10",
        maxTriggerDelay="2m",
        minPartitions="8",
        maxRecordsPerPartition="1000",
        includeHeaders="true",
        groupIdPrefix="mine",
        **{"kafkaConsumer.pollTimeoutMs": "500", "partition.metadata.cache.ttl.ms": "7"},
        **{"fetchOffset.numRetries": "0", "fetchOffset.retryIntervalMs": "250"},
    )
    assert found.starting == AtOffsets({TopicPartition("t", 0): 5, TopicPartition("t", 1): -2})
    assert (found.offsets_per_trigger_max, found.offsets_per_trigger_min) == (100, 10)
    assert (found.partitions_min, found.records_per_partition_max) == (8, 1000)
    assert (found.trigger_delay_max_ms, found.poll_timeout_ms, found.discovery_ms) == (120_000, 500, 7)
    assert (found.offset_retries, found.offset_retry_interval_ms) == (0, 250)
    assert found.group_id == "mine-t"
    assert found.include_headers
    assert not found.fail_on_data_loss


def test_a_group_of_its_own_is_taken_as_it_is() -> None:
    assert reader(is_stream=False, **{"kafka.group.id": "lag"}).group_id == "lag"


def test_one_time_for_all_wins_over_times_and_these_over_offsets() -> None:
    times = '{"t": {"0": 9}}'
    assert reader(startingOffsets="earliest", startingOffsetsByTimestamp=times).starting == AtTimes(
        times_ms={TopicPartition("t", 0): 9}
    )
    found = reader(startingTimestamp="7", startingOffsetsByTimestamp=times, startingOffsets="earliest")
    assert found.starting == AtTimes(everywhere_ms=7)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"subscribe": "t", "assign": '{"t": [0]}'},
            "exactly one of them is wanted, and subscribe and assign are given",
        ),
        ({"subscribe": " , "}, "subscribe: it names no topic"),
        ({"subscribePattern": "("}, "is not a regular expression"),
        ({"assign": "[1]"}, "is not JSON of the form"),
        ({"startingOffset": "earliest"}, "did you mean startingOffsets?"),
        ({"startingOffsets": "latest"}, "is not possible in a batch query"),
        ({"startingOffsets": "now"}, "neither earliest nor latest nor JSON"),
        ({"startingOffsets": '{"t": {"0": -7}}'}, "-7 of t-0 is not an offset"),
        ({"endingOffsets": "earliest"}, "is not possible in a batch query"),
        ({"startingTimestamp": "noon"}, "is not a whole number"),
        ({"failOnDataLoss": "perhaps"}, "neither true nor false"),
        ({"minPartitions": "0"}, "at least 1"),
        ({"maxTriggerDelay": "soon"}, "not a duration"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "9 is more than maxOffsetsPerTrigger, 8"),
        ({"startingOffsetsByTimestampStrategy": "guess"}, "not one of error, latest"),
        ({"kafka.auto.offset.reset": "earliest"}, "use startingOffsets"),
        ({"kafka.security.protocol": "SSL"}, "listeners are PLAINTEXT"),
        ({"kafka.isolation.level": "serialisable"}, "isolation.level"),
        ({"kafka.no.such.setting": "1"}, "not a setting of this client"),
        ({"path": "t"}, "named by the option subscribe"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers: it is missing"),
    ],
)
def test_a_wrong_option_is_one_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError) as refused:
        reader(is_stream=False, **given)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(OptionError, match="a stream has no end"):
        reader(is_stream=True, endingOffsets="latest")


def test_writers_are_exactly_once_unless_told_otherwise() -> None:
    assert writer().is_exactly_once
    assert not writer(deliveryGuarantee="at-least-once").is_exactly_once
    assert writer(txnAppId="a", txnVersion="3").app_version == 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"deliveryGuarantee": "maybe"}, "exactly-once, at-least-once"),
        ({"txnAppId": "a"}, "both are wanted, or none"),
        ({"kafka.transactional.id": "a"}, "use transactionalIdPrefix"),
        ({"subscribe": "t"}, "not an option of a writer"),
    ],
)
def test_a_wrong_option_of_a_writer_is_one_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        writer(**given)


@pytest.mark.parametrize(
    ("fields", "topic", "sentence"),
    [
        ({"key": StringType()}, "t", "value: the DataFrame has no such column"),
        ({"value": StringType()}, None, "give it as an option, or as a column"),
        ({"value": IntegerType()}, "t", "must be binary or string"),
        ({"value": StringType(), "headers": StringType()}, "t", "headers: the column is of type string"),
    ],
)
def test_columns_of_a_writer(fields: dict[str, Any], topic: str | None, sentence: str) -> None:
    schema = StructType([StructField(name, kind) for name, kind in fields.items()])
    with pytest.raises(OptionError, match=sentence):
        check_columns(schema, topic)


def test_a_reader_may_ask_for_some_of_the_columns() -> None:
    some = StructType([table_schema(include_headers=True)["headers"], table_schema(include_headers=True)["value"]])
    assert check_wanted(some) == some
    with pytest.raises(OptionError, match="there is no column valeu"):
        check_wanted(StructType([StructField("valeu", StringType())]))
    with pytest.raises(OptionError, match="column value is of type binary, not string"):
        check_wanted(StructType([StructField("value", StringType())]))
