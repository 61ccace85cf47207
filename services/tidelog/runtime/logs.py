"""One line for each event, with its ids, on stderr: as text for people or as JSON for collectors."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from types import TracebackType

LogFormat = Literal["text", "json"]

_ROOT = "tidelog"
_PLAIN_TYPES = (str, int, float, bool, type(None))


class Logger:
    """Logs events: a few fixed words, and everything that varies in named fields."""

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def debug(self, event: str, /, **fields: object) -> None:
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        self._log(logging.ERROR, event, fields)

    def exception(self, event: str, /, **fields: object) -> None:
        """An error with the traceback of the exception that is being handled."""
        self._log(logging.ERROR, event, fields, sys.exception())

    def failure(self, event: str, error: BaseException | None, /, **fields: object) -> None:
        """An error with the traceback of `error`, caught wherever it was."""
        self._log(logging.ERROR, event, fields, error)

    def enabled(self, level: int) -> bool:
        return self._logger.isEnabledFor(level)

    def _log(self, level: int, event: str, fields: dict[str, object], error: BaseException | None = None) -> None:
        if not self._logger.isEnabledFor(level):
            return
        exc_info = (type(error), error, error.__traceback__) if error is not None else None
        self._logger.handle(_record(self._logger.name, level, event, fields, exc_info))


def get(name: str) -> Logger:
    """The logger of one part of the process, such as "controller" or "zk"."""
    return Logger(logging.getLogger(f"{_ROOT}.{name}"))


def configure(
    level: str,
    format: LogFormat,  # noqa: A002  the setting's own name
    service: str,
    instance: int,
    *,
    foreign_level: str = "WARNING",
) -> None:
    """Send every record of this process to stderr in one format; libraries speak from `foreign_level` upwards."""
    formatter = JsonFormatter(service, instance) if format == "json" else TextFormatter(service, instance)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in tuple(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(foreign_level.upper())
    logging.getLogger(_ROOT).setLevel(level.upper())
    logging.captureWarnings(True)  # noqa: FBT003  a warning must not break the one-record-a-line promise


class TextFormatter(logging.Formatter):
    """`2026-11-18T12:00:00.123Z INFO  controller-1 controller: elected epoch=5`, a traceback on the lines below."""

    def __init__(self, service: str, instance: int) -> None:
        super().__init__()
        self._process = f"{service}-{instance}"

    def format(self, record: logging.LogRecord) -> str:
        line = (
            f"{_timestamp(record.created)} {record.levelname:<5} {self._process} {_name(record)}: {_event(record)}"
            + "".join(f" {key}={_text(value)}" for key, value in _fields(record).items())
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ts, level, service, instance, logger, event, fields, and error with the traceback."""

    def __init__(self, service: str, instance: int) -> None:
        super().__init__()
        self._service = service
        self._instance = instance

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "ts": _timestamp(record.created),
            "level": record.levelname,
            "service": self._service,
            "instance": self._instance,
            "logger": _name(record),
            "event": record.getMessage(),
            "fields": _fields(record),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return _json(entry)


def _record(
    name: str,
    level: int,
    event: str,
    fields: dict[str, object],
    exc_info: tuple[type[BaseException], BaseException, TracebackType | None] | None,
) -> logging.LogRecord:
    # Built here instead of by Logger.log, which would walk the stack for a file and a line that no format shows.
    record = logging.LogRecord(name, level, "", 0, event, (), exc_info)
    record.__dict__["fields"] = fields
    return record


def _timestamp(created: float) -> str:
    seconds, ms = divmod(int(created * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{ms:03d}Z"


def _name(record: logging.LogRecord) -> str:
    return record.name.removeprefix(f"{_ROOT}.")


def _event(record: logging.LogRecord) -> str:
    """The event on one line, whatever a foreign library put into it."""
    message = record.getMessage()
    return message if message.isprintable() else json.dumps(message, ensure_ascii=False)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = record.__dict__.get("fields") or {}
    return fields


def _text(value: object) -> str:
    text = str(value)
    plain = text and text.isprintable() and not any(character in ' "=' for character in text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def _json(entry: dict[str, object]) -> str:
    try:
        return json.dumps(entry, default=str, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError):
        # Not JSON: a NaN, a cycle, keys of an odd type. The record is kept, with those values as text.
        fields = entry["fields"]
        assert isinstance(fields, dict)
        entry["fields"] = {key: value if _is_plain(value) else repr(value) for key, value in fields.items()}
        return json.dumps(entry, ensure_ascii=False)


def _is_plain(value: object) -> bool:
    return isinstance(value, _PLAIN_TYPES) and not (isinstance(value, float) and value - value != 0)
