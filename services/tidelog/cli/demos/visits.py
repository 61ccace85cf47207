"""Realistic messages: people who view pages and search, and services that write logs about it."""

import json
import random
from datetime import UTC, datetime
from typing import NamedTuple

PAGEVIEWS = "pageviews"
SERVICE_LOGS = "service-logs"

_PAGES = ("/", "/search", "/cart", "/login", *(f"/product/{number}" for number in range(1, 21)))
_SERVICES = ("cart", "catalogue", "checkout", "search", "users")
_ERRORS = ("upstream timed out after {} ms", "connection {} was reset", "order {} has no address")
_LOGS_SHARE = 0.3
_LATE_SHARE = 0.02
_LATEST_S = 30.0


class Message(NamedTuple):
    """One record to send."""

    topic: str
    key: str
    value: str


def message(chance: random.Random, now_s: float) -> Message:
    """One message of either kind; a few are late, as those of phones without a network are."""
    is_late = chance.random() < _LATE_SHARE
    at_s = now_s - (chance.uniform(1, _LATEST_S) if is_late else 0)
    return _log_line(chance, at_s) if chance.random() < _LOGS_SHARE else _visit(chance, at_s)


def _visit(chance: random.Random, at_s: float) -> Message:
    # Few pages are viewed often and most of them seldom.
    page = _PAGES[min(int(chance.paretovariate(1.1)) - 1, len(_PAGES) - 1)]
    user = f"user-{int(chance.triangular(1, 500, 1))}"
    kind = "search" if page == "/search" or chance.random() < 0.1 else "view"
    return Message(PAGEVIEWS, user, _json(at_s, kind=kind, page=page, user=user))


def _log_line(chance: random.Random, at_s: float) -> Message:
    service = chance.choice(_SERVICES)
    is_error = chance.random() < (0.12 if service == "checkout" else 0.02)
    text = chance.choice(_ERRORS).format(chance.randrange(10_000)) if is_error else "request served"
    level = "ERROR" if is_error else "INFO"
    return Message(SERVICE_LOGS, service, _json(at_s, service=service, level=level, message=text))


def _json(at_s: float, **fields: str) -> str:
    return json.dumps({**fields, "at": datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")})
