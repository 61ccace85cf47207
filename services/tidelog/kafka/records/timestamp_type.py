"""Whose clock gave records their timestamps. A module of its own: naming it must not load what opening records needs."""

from enum import IntEnum


class TimestampType(IntEnum):
    """Whose clock gave the records their timestamps; the value is bit 3 of the attributes."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1
