"""`tidelog txn`: transactions, and what to do about those that hang."""

import time
from typing import Annotated

import typer

from tidelog.cli.lazily import noun
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import time_text, topic_partitions
from tidelog.cli.printing import print_json, print_table
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import WrongUsageError

txn = noun("txn", "See transactions, find those that hang, and abort them.")


@txn.command("list")
@speaks
async def list_transactions(
    target: Target,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Only Ongoing, CompleteCommit ... ones.", show_default=False),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """List the transactional ids that the coordinators know.

    Examples:

    - `tidelog txn list`
    - `tidelog txn list --state Ongoing --json`
    """
    async with target.admin() as admin:
        found = await admin.list_transactions(states=state or ())
    if json_output:
        print_json(
            [
                {"transactional_id": each.transactional_id, "producer_id": each.producer_id, "state": each.state}
                for each in found
            ]
        )
    else:
        rows = [[each.transactional_id, each.producer_id, each.state] for each in found]
        print_table(["TRANSACTIONAL-ID", "PRODUCER-ID", "STATE"], rows)


@txn.command("describe")
@speaks
async def describe(
    target: Target,
    transactional_id: Annotated[str, typer.Argument(metavar="TRANSACTIONAL-ID", show_default=False)],
    json_output: JsonOption = False,
) -> None:
    """Show one transaction: its producer, its age, its partitions.

    Examples:

    - `tidelog txn describe payments`
    """
    async with target.admin() as admin:
        found = (await admin.describe_transactions([transactional_id]))[transactional_id]
    document = {
        "transactional_id": found.transactional_id,
        "state": found.state,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.timeout_ms,
        "started": time_text(found.start_time_ms) if found.start_time_ms > 0 else None,
        "partitions": [str(each) for each in found.partitions],
    }
    if json_output:
        print_json(document)
    else:
        print_table(["WHAT", "VALUE"], [[key, value] for key, value in document.items()])


@txn.command("producers")
@speaks
async def producers(
    target: Target,
    topic: Annotated[str, typer.Argument(metavar="TOPIC[:0,1]", show_default=False)],
    json_output: JsonOption = False,
) -> None:
    """Show the producers that partitions remember; one with a start offset has an open transaction.

    Examples:

    - `tidelog txn producers orders`
    """
    from tidelog.client import TopicPartition

    name, numbers = topic_partitions(topic)
    async with target.admin() as admin:
        known = (await admin.describe_topics([name]))[name]
        wanted = [TopicPartition(name, each) for each in (sorted(known.partitions) if numbers is None else numbers)]
        found = await admin.describe_producers(wanted)
    heads = ["partition", "producer_id", "epoch", "last_sequence", "age_s", "coordinator_epoch", "start_offset"]
    rows = [
        [
            each.partition,
            one.producer_id,
            one.producer_epoch,
            one.last_sequence,
            round(time.time() - one.last_timestamp / 1000) if one.last_timestamp > 0 else None,
            one.coordinator_epoch,
            one.transaction_start_offset if one.transaction_start_offset >= 0 else None,
        ]
        for each, active in found.items()
        for one in active
    ]
    if json_output:
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
    else:
        print_table([head.upper().replace("_", "-") for head in heads], rows)


@txn.command("abort")
@speaks
async def abort(
    target: Target,
    topic: Annotated[str, typer.Argument(metavar="TOPIC:PARTITION", show_default=False)],
    start_offset: Annotated[int, typer.Option(min=0, help="Where the transaction began: see `txn producers`.")],
) -> None:
    """Abort a transaction that hangs in one partition, because no coordinator knows of it any more.

    It is told by the offset of its first record: `tidelog txn producers TOPIC` shows it.
    """
    from tidelog.client import KafkaCode, KafkaError, TopicPartition

    name, numbers = topic_partitions(topic)
    if numbers is None or len(numbers) != 1:
        raise WrongUsageError("Name one partition, as in orders:0.")
    partition = TopicPartition(name, numbers[0])
    async with target.admin() as admin:
        await admin.describe_topics([name])
        active = (await admin.describe_producers([partition]))[partition]
        hanging = [each for each in active if each.transaction_start_offset == start_offset]
        if not hanging:
            message = f"{partition} has no open transaction that began at offset {start_offset}"
            raise KafkaError(KafkaCode.INVALID_TXN_STATE, message)
        await admin.abort_transaction(partition, hanging[0])
    print(f"Aborted the transaction of producer {hanging[0].producer_id} in {partition}.")
