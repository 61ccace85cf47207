"""What the cleaner has done, as plain numbers that a broker can export."""

from dataclasses import dataclass


@dataclass(slots=True)
class CleaningCounts:
    """One cleaning of one log."""

    bytes_read: int = 0
    bytes_written: int = 0
    records_mapped: int = 0
    records_read: int = 0
    records_kept: int = 0
    records_without_key: int = 0
    map_utilization: float = 0.0


@dataclass(slots=True)
class CleanerCounts:
    """All cleanings of a process, and how the last look at its logs was."""

    cleanings: int = 0
    cleanings_given_up: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_kept: int = 0
    records_without_key: int = 0
    segments_deleted: int = 0
    map_utilization_max: float = 0.0
    cleaning_ms_max: int = 0
    last_cleaned_ms: int = -1
    dirty_ratio_max: float = 0.0
    compaction_delay_ms_max: int = 0
    uncleanable_partitions: int = 0
    uncleanable_bytes: int = 0

    def add(self, counts: CleaningCounts, took_ms: int, now_ms: int) -> None:
        self.cleanings += 1
        self.bytes_read += counts.bytes_read
        self.bytes_written += counts.bytes_written
        self.records_read += counts.records_read
        self.records_kept += counts.records_kept
        self.records_without_key += counts.records_without_key
        self.map_utilization_max = max(self.map_utilization_max, counts.map_utilization)
        self.cleaning_ms_max = max(self.cleaning_ms_max, took_ms)
        self.last_cleaned_ms = now_ms
