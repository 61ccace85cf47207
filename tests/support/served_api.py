"""An API asked without a socket: the request and the answer go through the codec, as a client of a version sees them."""

import asyncio
import inspect
from dataclasses import dataclass
from typing import Any

from tidelog.net.request_counts import ApiCounts
from tidelog.net.served import RequestContext, ServedApi


@dataclass
class NoConnection:
    listener: str = "PLAINTEXT"


def ask(served: ServedApi, version: int, request: Any, listener: str = "PLAINTEXT") -> Any:
    connection: Any = NoConnection(listener)
    context = RequestContext(connection, served.api.key, version, 1, None, ApiCounts(served.api.name))
    answer: Any = served.serve(context, served.api.request.decode(version, request.encode(version)))
    if inspect.iscoroutine(answer):
        answer = asyncio.run(answer)
    return served.api.response.decode(version, answer.encode(version))
