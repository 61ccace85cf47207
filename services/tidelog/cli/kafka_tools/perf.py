"""`tidelog kafka-producer-perf-test` and `tidelog kafka-consumer-perf-test`."""

import os
from argparse import Namespace
from datetime import datetime
from pathlib import Path

from tidelog.cli.bench import progress
from tidelog.cli.benching import bench_consume, bench_produce
from tidelog.cli.figures import Measured
from tidelog.cli.kafka_tools.dialect import Flags, client_settings, needed, run, target_of
from tidelog.cli.parsing import decoded, pairs
from tidelog.cli.target import Target, target_of_environment, timeout_of_environment
from tidelog.local.faults import LocalError

_PRODUCER_EXAMPLES = (
    (
        "--topic test --num-records 1000 --record-size 100 --throughput -1 "
        "--producer-props bootstrap.servers=localhost:9092 acks=all"
    ),
)
_CONSUMER_EXAMPLES = ("--bootstrap-server localhost:9092 --topic test --messages 100",)
_HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


def producer_parser() -> Flags:
    flags = Flags("kafka-producer-perf-test", "Measure how fast records go in.", _PRODUCER_EXAMPLES)
    flags.values("topic", "payload-file", "transactional-id", "bootstrap-server")
    flags.add_argument("--producer.config", "--command-config", dest="client_config", metavar="FILE")
    flags.add_argument("--payload-delimiter", default="\\n", metavar="TEXT")
    flags.numbers(num_records=None, record_size=None, transaction_duration_ms=0)
    flags.add_argument("--throughput", type=float, default=-1.0, metavar="N")
    flags.add_argument("--producer-props", nargs="+", default=[], metavar="KEY=VALUE")
    flags.lists("command-property")
    flags.ignored("reporting-interval", "warmup-records")
    flags.flags("print-metrics")
    return flags


def producer_main(arguments: list[str]) -> None:
    flags = producer_parser()
    given = flags.parse_args(_with_signs(arguments))
    for name in ("topic", "num-records"):
        needed(flags, getattr(given, name.replace("-", "_")), name)
    if (given.record_size is None) == (given.payload_file is None):
        flags.error("exactly one of --record-size and --payload-file is wanted")
    own = pairs([*given.producer_props, *given.command_property], "--producer-props")
    settings = {**client_settings(given.client_config), **own}
    server = settings.pop("bootstrap.servers", None) or given.bootstrap_server
    if settings.get("acks", "all") not in ("all", "-1"):
        settings.setdefault("enable.idempotence", "false")
    if given.transactional_id:
        settings["transactional.id"] = given.transactional_id
    run(_produce(target_of_environment(server, settings, timeout_of_environment()), given, _payloads(given)))


def _with_signs(arguments: list[str]) -> list[str]:
    """`--throughput -1`: a value that looks like an option is joined to its own."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--throughput":
            joined[-1] = f"--throughput={argument}"
        else:
            joined.append(argument)
    return joined


def _payloads(given: Namespace) -> list[bytes]:
    if given.payload_file is None:
        return [os.urandom(given.record_size)]
    try:
        data = Path(given.payload_file).read_bytes()
    except OSError as error:
        raise LocalError(f"{given.payload_file} cannot be read ({error.strerror}).") from None
    return [line for line in data.split(decoded(given.payload_delimiter).encode()) if line] or [b""]


async def _produce(target: Target, given: Namespace, payloads: list[bytes]) -> None:
    async with target.producer() as producer:
        is_transactional = producer.config.transactional_id is not None
        if is_transactional:
            await producer.begin_transaction()
        with progress("Sending", given.num_records) as advance:
            measured = await bench_produce(
                producer, given.topic, payloads, given.num_records, given.throughput, advance
            )
        if is_transactional:
            await producer.commit_transaction()
    print(measured.kafka_line())
    if given.print_metrics:
        _print_metrics("producer-metrics", producer.config.client_id, measured, "record-send")


def _print_metrics(group: str, client_id: str, measured: Measured, records: str) -> None:
    """What was measured here, under the names of Kafka's metrics and as its tools print them."""
    values = {
        f"{records}-total": float(measured.records),
        f"{records}-rate": measured.records_per_second,
        "byte-total": float(measured.size_bytes),
        "byte-rate": measured.megabytes_per_second * 2**20,
    }
    width = max(len(name) for name in values) + len(group) + len(client_id) + 14
    print(f"\n{'Metric Name':<{width}} Value")
    for name, value in values.items():
        print(f"{f'{group}:{name}:{{client-id={client_id}}}':<{width}} : {value:.3f}")


def consumer_parser() -> Flags:
    flags = Flags("kafka-consumer-perf-test", "Measure how fast records go out.", _CONSUMER_EXAMPLES)
    flags.addresses(config="consumer.config")
    flags.values("topic", "group")
    flags.numbers(messages=None, timeout=10_000, fetch_size=1_048_576, reporting_interval=5000)
    flags.flags("from-latest", "show-detailed-stats", "print-metrics", "hide-header")
    flags.lists("command-property")
    flags.ignored("threads", "num-fetch-threads", "socket-buffer-size", "date-format")
    return flags


def consumer_main(arguments: list[str]) -> None:
    flags = consumer_parser()
    given = flags.parse_args(arguments)
    for name in ("topic", "messages"):
        needed(flags, getattr(given, name), name)
    settings = {"max.partition.fetch.bytes": str(given.fetch_size)}
    settings |= pairs(given.command_property, "--command-property")
    run(_consume(target_of(given, settings=settings), given))


async def _consume(target: Target, given: Namespace) -> None:
    from tidelog.client import TopicPartition

    reset = "latest" if given.from_latest else "earliest"
    group = {"group.id": given.group} if given.group else {}
    async with target.consumer({"max.poll.records": 5000, "auto.offset.reset": reset, **group}) as consumer:
        if given.group:
            consumer.subscribe([given.topic])
        else:
            numbers = [each.partition for each in await consumer.partitions_for(given.topic)]
            consumer.assign([TopicPartition(given.topic, number) for number in numbers])
        begun = datetime.now().astimezone()
        with progress("Reading", given.messages) as advance:
            measured = await bench_consume(consumer, given.messages, given.timeout / 1000, advance)
    if not given.hide_header:
        print(_HEADER)
    megabytes = measured.size_bytes / 2**20
    rates = f"{measured.megabytes_per_second:.4f}, {measured.records}, {measured.records_per_second:.4f}"
    fetch = f"0, {measured.seconds * 1000:.0f}, {measured.megabytes_per_second:.4f}, {measured.records_per_second:.4f}"
    print(f"{_time(begun)}, {_time(datetime.now().astimezone())}, {megabytes:.4f}, {rates}, {fetch}")
    if given.print_metrics:
        _print_metrics("consumer-fetch-manager-metrics", consumer.config.client_id, measured, "records-consumed")


def _time(when: datetime) -> str:
    """As Kafka prints it: a colon before the milliseconds."""
    return f"{when:%Y-%m-%d %H:%M:%S}:{when.microsecond // 1000:03d}"
