"""The options of readers and writers, checked as a whole before anything else happens."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.option_values import as_boolean, as_count, as_milliseconds, as_names, as_partitions, as_pattern
from pyspark_tidelog.places import EARLIEST, LATEST, Place, read_place
from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.configs.producer import ProducerConfig
from tidelog.client.configs.reading import read_settings
from tidelog.client.errors import ConfigError
from tidelog.client.records import TopicPartition

_STRATEGIES = ("subscribe", "subscribePattern", "assign")
_READER_NAMES = (
    *_STRATEGIES,
    *(f"{edge}{what}" for edge in ("starting", "ending") for what in ("Offsets", "Timestamp", "OffsetsByTimestamp")),
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "groupIdPrefix",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
)
_WRITER_NAMES = ("topic", "includeHeaders", "deliveryGuarantee", "transactionalIdPrefix", "txnAppId", "txnVersion")
# What Spark itself puts among the options of a sink.
_SPARKS_OWN = ("checkpointLocation", "queryName", "path")
_REFUSED_OF_READERS = {
    "auto.offset.reset": "use startingOffsets",
    "key.deserializer": "keys are binary, cast the column",
    "value.deserializer": "values are binary, cast the column",
    "enable.auto.commit": "Spark keeps the offsets in its checkpoint",
    "interceptor.classes": "the SDK has none",
}
_REFUSED_OF_WRITERS = {
    "key.serializer": "cast the column to binary",
    "value.serializer": "cast the column to binary",
    "transactional.id": "use transactionalIdPrefix",
    "enable.idempotence": "use deliveryGuarantee",
}
# Settings of Java's clients that change nothing about what is read or written.
_JAVAS_OWN = frozenset(
    {
        "client.dns.lookup",
        "connections.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "receive.buffer.bytes",
        "send.buffer.bytes",
    }
)
_FETCH_BYTES = "8388608"
# The longest that brokers allow unless told otherwise: a task may wait long for its rows.
_TRANSACTION_TIMEOUT_MS = "900000"
_GUARANTEES = ("exactly-once", "at-least-once")


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """What to read, from where to where, and how much at a time."""

    settings: Mapping[str, str]
    starting: Place
    ending: Place
    topics: tuple[str, ...] = ()
    pattern: str = ""
    assigned: tuple[TopicPartition, ...] = ()
    unmatched_time_is_latest: bool = False
    fail_on_data_loss: bool = True
    offsets_per_trigger_max: int | None = None
    offsets_per_trigger_min: int | None = None
    trigger_delay_max_ms: int = 900_000
    partitions_min: int | None = None
    records_per_partition_max: int | None = None
    group_id: str = ""
    include_headers: bool = False
    poll_timeout_ms: int = 120_000
    discovery_ms: int = 3000
    offset_retries: int = 3
    offset_retry_interval_ms: int = 10


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Where to write to, and what holds when a batch is repeated."""

    settings: Mapping[str, str]
    topic: str | None = None
    is_exactly_once: bool = True
    transactional_id_prefix: str = "spark-tidelog-sink"
    app_id: str = ""
    app_version: int | None = None


def read_reader_options(options: Mapping[str, str], *, is_stream: bool) -> ReaderOptions:
    """Options of a reader. OptionError with one sentence at the first that is wrong."""
    given = _lowered(options)
    _check_names(given, _READER_NAMES, "a reader")
    settings = _kafka_settings(given, ConsumerConfig, _REFUSED_OF_READERS, {"max.partition.fetch.bytes": _FETCH_BYTES})
    chosen = _strategy(given)
    if is_stream and (edge := next((name for name in given if name.startswith("ending")), None)):
        raise OptionError(f"{edge}: a stream has no end; leave it out, or read with spark.read.")
    most = _count(given, "maxOffsetsPerTrigger")
    least = _count(given, "minOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise OptionError(f"minOffsetsPerTrigger: {least} is more than maxOffsetsPerTrigger, {most}.")
    return ReaderOptions(
        settings=settings,
        starting=read_place("starting", given, LATEST if is_stream else EARLIEST, None if is_stream else LATEST),
        ending=read_place("ending", given, LATEST, EARLIEST),
        **chosen,
        unmatched_time_is_latest=_one_of(given, "startingOffsetsByTimestampStrategy", ("error", "latest")) == "latest",
        fail_on_data_loss=_boolean(given, "failOnDataLoss", default=True),
        offsets_per_trigger_max=most,
        offsets_per_trigger_min=least,
        trigger_delay_max_ms=as_milliseconds("maxTriggerDelay", given.get("maxtriggerdelay", "15m")),
        partitions_min=_count(given, "minPartitions"),
        records_per_partition_max=_count(given, "maxRecordsPerPartition"),
        group_id=_group_id(given, settings, chosen),
        include_headers=_boolean(given, "includeHeaders", default=False),
        poll_timeout_ms=_count(given, "kafkaConsumer.pollTimeoutMs") or 120_000,
        discovery_ms=_discovery_ms(given),
        offset_retries=as_count("fetchOffset.numRetries", given.get("fetchoffset.numretries", "3"), least=0),
        offset_retry_interval_ms=as_count(
            "fetchOffset.retryIntervalMs", given.get("fetchoffset.retryintervalms", "10"), least=0
        ),
    )


def read_writer_options(options: Mapping[str, str]) -> WriterOptions:
    """Options of a writer. OptionError with one sentence at the first that is wrong."""
    given = _lowered(options)
    _check_names(given, _WRITER_NAMES, "a writer")
    is_exactly_once = _one_of(given, "deliveryGuarantee", _GUARANTEES) == _GUARANTEES[0]
    defaults = {"linger.ms": "5", "batch.size": "262144"}
    if is_exactly_once:
        defaults["transaction.timeout.ms"] = _TRANSACTION_TIMEOUT_MS
    if ("txnappid" in given) != ("txnversion" in given):
        raise OptionError("txnAppId, txnVersion: both are wanted, or none.")
    version = given.get("txnversion")
    return WriterOptions(
        settings=_kafka_settings(given, ProducerConfig, _REFUSED_OF_WRITERS, defaults),
        topic=given.get("topic"),
        is_exactly_once=is_exactly_once,
        transactional_id_prefix=given.get("transactionalidprefix", "spark-tidelog-sink"),
        app_id=given.get("txnappid", ""),
        app_version=None if version is None else as_count("txnVersion", version, least=0),
    )


def _lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _check_names(given: Mapping[str, str], known: tuple[str, ...], whose: str) -> None:
    by_lower = {name.lower(): name for name in (*known, *_SPARKS_OWN)}
    for name in given:
        if name not in by_lower and not name.startswith("kafka."):
            close = get_close_matches(name, list(by_lower), n=1, cutoff=0.75)
            hint = f" (did you mean {by_lower[close[0]]}?)" if close else ""
            raise OptionError(f"{name}: it is not an option of {whose}{hint}.")
    if "path" in given:
        raise OptionError("path: a topic is named by the option subscribe when reading, and by topic when writing.")


def _kafka_settings(
    given: Mapping[str, str], config_type: type[Any], refused: Mapping[str, str], defaults: Mapping[str, str]
) -> dict[str, str]:
    """What goes to the SDK: options that begin with `kafka.`, without it. The SDK's own check finds the wrong ones."""
    settings = dict(defaults)
    for option, value in given.items():
        name = option.removeprefix("kafka.")
        if name == option or name in _JAVAS_OWN:
            continue
        if name in refused:
            raise OptionError(f"{option}: it cannot be set; {refused[name]}.")
        if name == "security.protocol":
            _check_protocol(option, value)
            continue
        settings[name] = value
    if not settings.get("bootstrap.servers"):
        raise OptionError("kafka.bootstrap.servers: it is missing; give it as host:port,host:port.")
    try:
        read_settings(config_type, settings, {})
    except ConfigError as error:
        raise OptionError(f"kafka.{error}") from None
    return settings


def _check_protocol(option: str, value: str) -> None:
    if value.upper() != "PLAINTEXT":
        raise OptionError(f"{option}: {value!r} is not spoken yet; listeners are PLAINTEXT.")


def _strategy(given: Mapping[str, str]) -> dict[str, Any]:
    named = [name for name in _STRATEGIES if name.lower() in given]
    if len(named) != 1:
        found = f"{' and '.join(named)} are given" if named else "none is given"
        raise OptionError(f"subscribe, subscribePattern, assign: exactly one of them is wanted, and {found}.")
    name, text = named[0], given[named[0].lower()]
    if name == "subscribe":
        return {"topics": as_names(name, text)}
    if name == "subscribePattern":
        return {"pattern": as_pattern(name, text)}
    return {"assigned": as_partitions(name, text)}


def _group_id(given: Mapping[str, str], settings: Mapping[str, str], chosen: Mapping[str, Any]) -> str:
    """The group that shows how far a stream is. A query keeps it over restarts, so it is made of what is read."""
    if "group.id" in settings:
        return settings["group.id"]
    prefix = given.get("groupidprefix", "spark-tidelog-source")
    topics = chosen.get("topics") or sorted({each.topic for each in chosen.get("assigned", ())})
    return f"{prefix}-{','.join(topics) or chosen['pattern']}"


def _discovery_ms(given: Mapping[str, str]) -> int:
    text = given.get("partition.metadata.cache.ttl.ms", "-1")
    return 3000 if text == "-1" else as_count("partition.metadata.cache.ttl.ms", text, least=0)


def _boolean(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name.lower())
    return default if text is None else as_boolean(name, text)


def _count(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name.lower())
    return None if text is None else as_count(name, text)


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """The first one is the default."""
    text = given.get(name.lower(), allowed[0]).lower()
    if text not in allowed:
        raise OptionError(f"{name}: {text!r} is not one of {', '.join(allowed)}.")
    return text
