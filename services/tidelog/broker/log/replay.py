"""Reading the producers of a partition out of its log again, from a snapshot on."""

from typing import TYPE_CHECKING

from tidelog.kafka.records.control import read_marker

if TYPE_CHECKING:
    from tidelog.broker.log.producer_states import ProducerStates
    from tidelog.broker.log.segment import Segment


def replay_producers(producers: "ProducerStates", segment: "Segment", from_offset: int, end_offset: int) -> None:
    """Take in all batches of a segment within two offsets. Its index of aborted transactions is left as it is."""
    start = segment.position_of(from_offset) if from_offset > segment.base_offset else 0
    for position, header in segment.headers(start):
        if header.base_offset >= end_offset:
            return
        if not header.has_producer_id:
            continue
        if not header.is_control:
            producers.on_data(header, header.base_offset)
            continue
        marker = read_marker(segment.batch_at(position, header.size))
        completed = None if marker is None else producers.on_marker(header, marker, header.base_offset)
        if completed is not None:
            producers.complete(completed)
