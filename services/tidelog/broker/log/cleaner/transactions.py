"""What a cleaner must know of transactions while it reads a log from its beginning.

Records of an aborted transaction go. The marker of a transaction may go once none of its records is left, and not
before: a reader would take what is left for a part of the producer's next transaction.
"""

from typing import TYPE_CHECKING

from tidelog.kafka.records.control import MarkerType, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.txn_index import AbortedTxn
    from tidelog.kafka.records.header import BatchHeader


class TransactionTrail:
    """Told of every batch in order; says of each whether the state of its transaction lets it go."""

    def __init__(self, aborted: "Iterable[AbortedTxn]") -> None:
        # By first offset, the first one at the end.
        self._to_come = sorted(aborted, key=lambda txn: -txn.first_offset)
        self._aborted: dict[int, AbortedTxn] = {}
        self._aborted_with_data: set[int] = set()
        self._with_data: set[int] = set()
        # Aborted transactions of which records were still seen: a cleaned segment needs them in its index.
        self.still_aborted: list[AbortedTxn] = []

    def on_batch(self, batch: "ScannedBatch") -> bool:
        header = batch.header
        if not header.is_transactional:
            return False
        while self._to_come and self._to_come[-1].first_offset <= header.last_offset:
            txn = self._to_come.pop()
            # A reading that begins after a transaction's marker must not take the producer's next one for it.
            if txn.last_offset >= header.base_offset:
                self._aborted[txn.producer_id] = txn
        return self._on_control(batch) if header.is_control else self._on_data(header)

    def _on_data(self, header: "BatchHeader") -> bool:
        is_aborted = header.producer_id in self._aborted
        (self._aborted_with_data if is_aborted else self._with_data).add(header.producer_id)
        return is_aborted

    def _on_control(self, batch: "ScannedBatch") -> bool:
        header = batch.header
        if not header.records_count:
            # It was kept for its producer's sake after its marker had gone.
            return True
        marker = read_marker(batch.view)
        if marker is None:
            return False
        if marker.marker_type is MarkerType.COMMIT:
            return not _take(self._with_data, header.producer_id)
        txn = self._aborted.pop(header.producer_id, None)
        if not _take(self._aborted_with_data, header.producer_id) or txn is None:
            return True
        self.still_aborted.append(txn)
        return False


def _take(producers: set[int], producer_id: int) -> bool:
    if producer_id not in producers:
        return False
    producers.remove(producer_id)
    return True
