"""A topic of many partitions: how long until all of them have leaders."""

import time

from tools.bench.system import System


def create_many(system: System, name: str, partitions: int, replicas: int) -> None:
    topic = system.new_name()
    begun = time.perf_counter()
    system.create(topic, partitions, replicas)
    system.until(lambda: system.is_led(topic, partitions))
    system.figures.add(name, time.perf_counter() - begun)
    system.delete(topic)
    system.until(lambda: topic not in system.admin.list_topics(timeout=30).topics)
