"""Which neighbouring segments become one: as many as fit, so that compaction does not leave ever smaller files."""

from typing import TYPE_CHECKING

from tidelog.broker.log.segment import RELATIVE_OFFSET_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.broker.log.cleaner.source import SourceSegment
    from tidelog.broker.log.config import LogConfig

# All files of a group are renamed at once by the thread that also answers clients: this many take a few milliseconds.
_GROUP_SEGMENTS_MAX = 64


def group_segments(sources: "Iterable[SourceSegment]", config: "LogConfig") -> "list[tuple[SourceSegment, ...]]":
    """Groups in order, each within segment.bytes, the size of an index, and the offsets that an index can tell apart."""
    groups: list[tuple[SourceSegment, ...]] = []
    for source in sources:
        if groups and _fits(group := (*groups[-1], source), config):
            groups[-1] = group
        else:
            groups.append((source,))
    return groups


def _fits(group: "tuple[SourceSegment, ...]", config: "LogConfig") -> bool:
    return (
        len(group) <= _GROUP_SEGMENTS_MAX
        and sum(source.size for source in group) <= config.segment_bytes
        and sum(source.offset_index_bytes for source in group) <= config.segment_index_bytes
        and sum(source.time_index_bytes for source in group) <= config.segment_index_bytes
        and (group[-1].size == 0 or group[-1].end_offset - 1 - group[0].base_offset <= RELATIVE_OFFSET_MAX)
    )
