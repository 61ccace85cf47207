"""Watched znodes that have changed, and who handles each."""

from collections.abc import Iterable

from tidelog.controller.core import (
    brokers,
    deletion,
    isr_changes,
    partition_states,
    preferred,
    reassignment_requests,
    topics,
)
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.zk.znodes import (
    CONFIG_CHANGES,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    TOPICS,
    PreferredElectionZnode,
    ReassignPartitionsZnode,
)


def same_kind(path: str, paths: Iterable[str]) -> set[str]:
    """Those of these paths that are handled together with this one: all topics, all states, or it alone."""
    if not path.startswith(f"{TOPICS}/"):
        return {path}
    depth = path.count("/")
    return {other for other in paths if other.startswith(f"{TOPICS}/") and other.count("/") == depth}


def on_znodes_changed(work: Work, paths: set[str]) -> Task[None]:
    """These changed, all of one kind."""
    path = min(paths)
    if path.startswith(f"{TOPICS}/"):
        yield from _below_topics(work, paths)
        return
    match path:
        case _ if path == TOPICS:
            yield from topics.on_topics_changed(work)
        case _ if path == DELETE_TOPICS:
            yield from deletion.on_deletions_wanted(work)
        case _ if path == ISR_CHANGES:
            yield from isr_changes.on_isr_changes(work)
        case _ if path == LOG_DIR_EVENTS:
            yield from brokers.on_log_dir_events(work)
        case _ if path == CONFIG_CHANGES:
            # A topic may allow unclean elections now.
            yield from partition_states.elect_where_needed(work)
        case PreferredElectionZnode.PATH:
            yield from preferred.on_legacy_elections(work)
        case ReassignPartitionsZnode.PATH:
            yield from reassignment_requests.on_legacy_reassignments(work)
        case _:
            raise AssertionError(f"{path} is not watched")


def _below_topics(work: Work, paths: set[str]) -> Task[None]:
    words = [path.removeprefix(f"{TOPICS}/").split("/") for path in paths]
    if len(words[0]) == 1:
        yield from topics.on_topics_written(work, {TopicName(topic) for (topic,) in words})
    else:
        states = {TopicPartition(TopicName(topic), PartitionIndex(int(index))) for topic, _, index, _ in words}
        yield from isr_changes.on_states_changed(work, work.context.reassigning & states)
