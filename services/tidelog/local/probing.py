"""Asks processes whether they are ready: /readyz of a service, the `srvr` command of ZooKeeper."""

import http.client
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tidelog.local.layout import HOST, Listener, LocalProcess, Role
from tidelog.local.zookeeper import zookeeper_serves

_TIMEOUT_S = 2.0
_ANSWER_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Probe:
    """What a process answered; `active` is None where it makes no sense or was not told."""

    ready: bool
    reason: str = ""
    active: bool | None = None


_UNASKED = Probe(ready=False)


class Prober:
    """Probes many processes at once, so that one that hangs does not hold up the others.

    An answer that leaves nothing to wait for is kept for `keep_ready_s`: while a cluster starts, every question takes
    processor time from those that are not ready yet.
    """

    def __init__(self, keep_ready_s: float = 0.0, ask: Callable[[LocalProcess], Probe] | None = None) -> None:
        self._keep_ready_s = keep_ready_s
        self._ask = ask or probe
        self._answers: dict[str, tuple[float, Probe]] = {}
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="probe")

    def probe_all(self, processes: Sequence[LocalProcess]) -> list[Probe]:
        """The answers, in the order of the processes."""
        now_s = time.monotonic()
        due = [process for process in processes if not self._is_settled(process, now_s)]
        for process, answer in zip(due, self._pool.map(self._ask, due), strict=True):
            self._answers[str(process)] = (now_s, answer)
        return [self._answers[str(process)][1] for process in processes]

    def _is_settled(self, process: LocalProcess, now_s: float) -> bool:
        asked_at_s, answer = self._answers.get(str(process), (now_s, _UNASKED))
        # A controller in reserve may become the active one at any moment.
        return answer.ready and answer.active is not False and now_s - asked_at_s < self._keep_ready_s

    def close(self) -> None:
        """End the threads; probes are bounded in time, so this is too."""
        self._pool.shutdown()


def probe(process: LocalProcess) -> Probe:
    """Ask one process; silence and nonsense are answers too."""
    if process.role is Role.ZOOKEEPER:
        serves = zookeeper_serves(process.ports[Listener.ZOOKEEPER])
        return Probe(ready=serves, reason="" if serves else "does not answer")
    connection = http.client.HTTPConnection(HOST, process.ports[Listener.HTTP], timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        return read_answer(response.status, response.read(_ANSWER_BYTES_MAX))
    except ConnectionRefusedError:
        return Probe(ready=False, reason="does not listen yet")
    except TimeoutError:
        return Probe(ready=False, reason=f"does not answer within {_TIMEOUT_S:g} s")
    except (OSError, http.client.HTTPException) as error:
        return Probe(ready=False, reason=f"does not answer: {error or type(error).__name__}")
    finally:
        connection.close()


def read_answer(status: int, body: bytes) -> Probe:
    """What a status and a body of /readyz mean; a body we cannot read takes nothing away from the status."""
    try:
        document = json.loads(body)
    except ValueError:
        document = {}
    if not isinstance(document, Mapping):
        document = {}
    ready = status == http.client.OK
    return Probe(ready=ready, reason="" if ready else _reason(document, status), active=_active(document))


def _reason(document: Mapping[str, Any], status: int) -> str:
    conditions = document.get("conditions")
    if isinstance(conditions, Mapping):
        missing = [
            str(condition.get("why") or name)
            for name, condition in conditions.items()
            if isinstance(condition, Mapping) and not condition.get("ok")
        ]
        if missing:
            return "; ".join(missing)
    return str(document.get("reason") or f"/readyz answers {status}")


def _active(document: Mapping[str, Any]) -> bool | None:
    for place in (document.get("detail"), document):
        if isinstance(place, Mapping) and isinstance(place.get("active"), bool):
            return bool(place["active"])
    return None
