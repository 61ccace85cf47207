"""What the ops endpoints say, apart from the HTTP server that says it: /metrics, /livez and /readyz."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.runtime import metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.runtime.readiness import Readiness

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Response:
    """A whole HTTP answer, without its framing."""

    status: int
    content_type: str
    body: bytes


class OpsPages:
    """Answers the paths that every process has."""

    def __init__(
        self, readiness: Readiness, process_metrics: metrics.Metrics, heartbeat_age_ms: Callable[[], float]
    ) -> None:
        self._readiness = readiness
        self._metrics = process_metrics
        self._heartbeat_age_ms = heartbeat_age_ms
        self._pages = {"/metrics": self._metrics_page, "/livez": self._livez, "/readyz": self._readyz}

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._pages)

    def respond(self, path: str) -> Response:
        """The page at `path`, or a 404."""
        page = self._pages.get(path)
        return page() if page is not None else text_response(404, f"nothing here; try {', '.join(self.paths)}")

    def _metrics_page(self) -> Response:
        return Response(200, metrics.CONTENT_TYPE, self._metrics.render())

    def _livez(self) -> Response:
        # That this code runs is the proof of life: the event loop answered.
        return _json_response(200, {"alive": True, "heartbeat_age_ms": round(self._heartbeat_age_ms(), 1)})

    def _readyz(self) -> Response:
        return _json_response(200 if self._readiness.ready else 503, self._readiness.report())


def text_response(status: int, text: str) -> Response:
    return Response(status, _TEXT, f"{text}\n".encode())


def _json_response(status: int, content: dict[str, object]) -> Response:
    return Response(status, _JSON, json.dumps(content).encode() + b"\n")
