"""Writes while a leader is killed, and shows when what happened, and that nothing acknowledged is lost."""

import asyncio
import itertools
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.printing import print_json
from tidelog.cli.target import Target
from tidelog.client import NewTopic, TopicPartition
from tidelog.local.cluster import existing_shape, find_process, open_data_dir, signal_process, start_process
from tidelog.local.faults import LocalError
from tidelog.local.layout import Role

if TYPE_CHECKING:
    from tidelog.local.data_dir import DataDir
    from tidelog.local.layout import Shape

_BEFORE_S = 1.0
_PAUSE_S = 0.002


@dataclass(slots=True)
class _Story:
    """What happened, in seconds since the beginning."""

    begun: float = field(default_factory=time.perf_counter)
    events: list[tuple[float, str]] = field(default_factory=list)
    acknowledged: list[tuple[float, int]] = field(default_factory=list)
    is_shown: bool = True

    def now(self) -> float:
        return time.perf_counter() - self.begun

    def tell(self, words: str) -> None:
        self.events.append((self.now(), words))
        if self.is_shown:
            print(f"{self.now():8.3f} s  {words}", flush=True)


def run(root: Path, seconds: float, *, json_output: bool) -> None:
    """The whole demonstration, on the cluster in a data directory."""
    data_dir = open_data_dir(root)
    shape = existing_shape(data_dir)
    if len(shape.of(Role.BROKER)) < 2:
        raise LocalError("There is only one broker, so that none is left to take over: `tidelog up --brokers 3`.")
    story = _Story(is_shown=not json_output)
    document = asyncio.run(_play(data_dir, shape, seconds, story))
    if json_output:
        print_json(document)
    else:
        print(f"{document['acknowledged']} records were acknowledged, {document['lost']} of them are lost.")
        print(f"Longest wait for an acknowledgement after the kill: {document['gap_s']:.3f} s.")
    if document["lost"]:
        raise LocalError("Acknowledged records are lost.")


async def _play(data_dir: "DataDir", shape: "Shape", seconds: float, story: _Story) -> dict[str, Any]:
    target = Target(shape.bootstrap, {}, 60.0)
    topic = f"demo-failover-{int(time.time() * 1000)}"
    partition = TopicPartition(topic, 0)
    async with target.admin() as admin:
        replicas = min(3, len(shape.of(Role.BROKER)))
        await admin.create_topics([NewTopic(topic, 1, replicas, {"min.insync.replicas": str(min(2, replicas))})])
        leader = (await admin.describe_topics([topic]))[topic].partitions[0].leader
        story.tell(f"{topic} is led by broker {leader}; writing with acks=all")
        stop = asyncio.Event()
        writing = asyncio.create_task(_write(target, topic, story, stop))
        await asyncio.sleep(_BEFORE_S)
        killed_at = story.now()
        victim = find_process(shape, Role.BROKER, leader)
        await asyncio.to_thread(signal_process, data_dir, victim, signal.SIGKILL)
        story.tell(f"killed {victim}")
        await _until_led_anew(admin, topic, leader, story)
        await asyncio.sleep(seconds)
        stop.set()
        await writing
        story.tell(f"starting {victim} again")
        await asyncio.to_thread(start_process, data_dir, shape, victim, timeout_s=120, interrupted=lambda: False)
        story.tell(f"{victim} is ready")
        kept = await _read(target, partition)
        await admin.delete_topics([topic])
    numbers = [number for _, number in story.acknowledged]
    times = [at for at, _ in story.acknowledged]
    gaps = [after - before for before, after in itertools.pairwise(times) if after >= killed_at]
    return {
        "acknowledged": len(numbers),
        "lost": len(set(numbers) - kept),
        "gap_s": round(max(gaps, default=0.0), 3),
        "timeline": [{"at_s": round(at, 3), "event": words} for at, words in story.events],
    }


async def _write(target: Target, topic: str, story: _Story, stop: asyncio.Event) -> None:
    number = 0

    def on_done(sent: int) -> Any:
        def done(_: object, error: BaseException | None) -> None:
            if error is None:
                story.acknowledged.append((story.now(), sent))

        return done

    async with target.producer() as producer:
        while not stop.is_set():
            await producer.enqueue(topic, str(number).encode(), callback=on_done(number))
            number += 1
            await asyncio.sleep(_PAUSE_S)
        await producer.flush()


async def _until_led_anew(admin: Any, topic: str, before: int, story: _Story) -> None:
    async with asyncio.timeout(60):
        while True:
            leader = (await admin.describe_topics([topic]))[topic].partitions[0].leader
            if leader not in (before, -1):
                story.tell(f"broker {leader} leads")
                return


async def _read(target: Target, partition: TopicPartition) -> set[int]:
    found: set[int] = set()
    async with target.consumer() as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end = (await consumer.end_offsets([partition]))[partition]
        while await consumer.position(partition) < end:
            for records in (await consumer.poll(500)).values():
                found.update(int(record.value) for record in records)
    return found
