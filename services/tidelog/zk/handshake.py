"""Bounds how long kazoo waits for a server's answer to its greeting.

A server that is starting accepts connections before it serves, and drops a greeting that comes in between. Kazoo would wait
for the answer as long as a session lives: 18 s in which the process could have been registered. So the first wait is short,
and each one after it twice as long, since a greeting creates a session and a busy ensemble may need its time for that.
"""

from typing import Any

from kazoo.client import KazooClient
from kazoo.protocol.serialization import Connect

FIRST_WAIT_S = 0.5


def be_impatient(client: KazooClient) -> None:
    """Kazoo has no setting for it, so its connection's request function is wrapped."""
    connection = client._connection  # noqa: SLF001
    invoke = connection._invoke  # noqa: SLF001
    wait_s = FIRST_WAIT_S

    def bounded(timeout_s: float, request: Any, xid: int | None = None) -> Any:
        nonlocal wait_s
        if not isinstance(request, Connect):
            return invoke(timeout_s, request, xid)
        patience_s, wait_s = min(timeout_s, wait_s), wait_s * 2
        answer = invoke(patience_s, request, xid)
        wait_s = FIRST_WAIT_S
        return answer

    connection._invoke = bounded  # noqa: SLF001
