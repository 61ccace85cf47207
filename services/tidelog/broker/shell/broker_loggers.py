"""The loggers of this process as Kafka's tools see and set them; a level that was set lasts until the process ends."""

import logging

from tidelog.kafka.errors import KafkaCode, KafkaError

ROOT = "root"

# Kafka's levels, and ours for each.
_LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}


class BrokerLoggers:
    """Every logger that exists, by name."""

    def levels(self) -> dict[str, str]:
        """The level from which each logs."""
        return {name: _level_name(logger.getEffectiveLevel()) for name, logger in _loggers().items()}

    def check(self, name: str, level: str | None) -> None:
        """Raises KafkaError unless the logger can have this level; None gives it back to its parent."""
        if name not in _loggers():
            raise KafkaError(KafkaCode.INVALID_CONFIG, f"There is no logger {name!r}.")
        if level is None and name == ROOT:
            raise KafkaError(KafkaCode.INVALID_REQUEST, "The level of the root logger cannot be removed.")
        if level is not None and level not in _LEVELS:
            raise KafkaError(KafkaCode.INVALID_CONFIG, f"The level of a logger is one of {', '.join(_LEVELS)}.")

    def set(self, name: str, level: str | None) -> None:
        """Set a level that was checked."""
        _loggers()[name].setLevel(logging.NOTSET if level is None else _LEVELS[level])


def _loggers() -> dict[str, logging.Logger]:
    known = logging.root.manager.loggerDict
    named = {name: logger for name, logger in known.items() if isinstance(logger, logging.Logger)}
    return {ROOT: logging.root, **named}


def _level_name(level: int) -> str:
    return next((name for name, number in _LEVELS.items() if level >= number), "TRACE")
