"""An event loop in a thread, and the client that lives on it."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from tidelog.client.errors import ClosedError, IllegalStateError
from tidelog.client.shell.client import Client

C = TypeVar("C", bound=Client)
P = ParamSpec("P")
T = TypeVar("T")


class LoopThread:
    """Runs until it is stopped; daemonic, so that a forgotten client does not keep a program from ending."""

    def __init__(self, name: str) -> None:
        self.loop = _new_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine over there."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise IllegalStateError(
                "a blocking call cannot be made from a callback, which runs on the client's own loop"
            )
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class SyncClient(Generic[C]):
    """A client whose calls wait in the calling thread; several threads may use it."""

    def __init__(self, client: C) -> None:
        self._client = client
        self._thread: LoopThread | None = None
        self._is_closed = False

    def start(self) -> Self:
        """Open it. Raises NoBrokerError if the cluster cannot be found."""
        if self._thread is not None or self._is_closed:
            raise IllegalStateError(f"{type(self).__name__} was started before")
        self._thread = LoopThread(f"tidelog-{type(self).__name__.lower()}")
        try:
            self._run(self._client.start())
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Give everything back. Closing twice is no fault."""
        thread, self._thread = self._thread, None
        self._is_closed = True
        if thread is not None:
            try:
                thread.start(self._client.close()).result()
            finally:
                thread.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _loop_thread(self) -> LoopThread:
        if self._thread is None:
            name = type(self).__name__
            if self._is_closed:
                raise ClosedError(f"{name} is closed")
            raise IllegalStateError(f"{name} is not started: use `with`, or call start()")
        return self._thread

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            thread = self._loop_thread()
        except IllegalStateError:
            coroutine.close()
            raise
        return thread.start(coroutine).result()

    def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that does not wait, over there."""

        async def call() -> T:
            return function(*args, **kwargs)

        return self._run(call())


def waiting(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncClient[Any], P], T]:
    """The twin of a coroutine method: the same arguments, and the result at once."""

    @functools.wraps(method)
    def wait(self: SyncClient[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self._client, *args, **kwargs))

    return wait


def plain(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[SyncClient[Any], P], T]:
    """The twin of a method that does not wait."""

    @functools.wraps(method)
    def call(self: SyncClient[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._call(method, self._client, *args, **kwargs)

    return call
