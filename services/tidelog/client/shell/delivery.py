"""What `send` returns: awaited, it gives where the record was written. It costs a future only if it is awaited."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

from tidelog.client.core.batch import ProducerBatch
from tidelog.client.errors import IllegalStateError
from tidelog.client.records import RecordMetadata

# Called with where the record was written, or with why it was not.
DeliveryCallback = Callable[[RecordMetadata | None, BaseException | None], None]


class Delivery:
    """One record on its way. Awaiting it twice is allowed; giving up awaiting it does not stop the record."""

    __slots__ = ("_batch", "_error", "_index", "_timestamp", "_waiting")

    def __init__(self, batch: ProducerBatch | None, index: int = 0, timestamp: int = 0) -> None:
        self._batch = batch
        self._index = index
        self._timestamp = timestamp
        # Only used while the record stands in line for a batch.
        self._waiting: list[Callable[[], None]] | None = None
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self._error is not None or (self._batch is not None and self._batch.is_done)

    def result(self) -> RecordMetadata:
        """Where the record was written, if it is done; raises why it was not."""
        if self._error is not None:
            raise self._error
        if self._batch is None or not self._batch.is_done:
            raise IllegalStateError("the record is not delivered yet: await it")
        return self._batch.result(self._index, self._timestamp)

    def exception(self) -> BaseException | None:
        """Why the record was not written, if it is done and was not."""
        try:
            self.result()
        except IllegalStateError:
            raise
        except Exception as error:  # noqa: BLE001  every failure is the answer
            return error
        return None

    def add_callback(self, callback: DeliveryCallback) -> None:
        """Have this called when the record is delivered or has failed."""
        self.when_done(lambda: _report(self, callback))

    def when_done(self, listener: Callable[[], None]) -> None:
        if self._error is not None:
            listener()
        elif self._batch is not None:
            self._batch.when_done(lambda _: listener())
        else:
            self._waiting = [*(self._waiting or ()), listener]

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self.done:
            future = asyncio.get_running_loop().create_future()
            self.when_done(lambda: None if future.done() else future.set_result(None))
            yield from future
        return self.result()

    # ---- for the producer

    def place(self, batch: ProducerBatch, index: int) -> None:
        """It stood in line and has a place in a batch now."""
        self._batch = batch
        self._index = index
        waiting, self._waiting = self._waiting, None
        for listener in waiting or ():
            self.when_done(listener)

    def refuse(self, error: BaseException) -> None:
        """It stood in line in vain."""
        self._error = error
        waiting, self._waiting = self._waiting, None
        for listener in waiting or ():
            listener()


def _report(delivery: Delivery, callback: DeliveryCallback) -> None:
    error = delivery.exception()
    callback(None if error is not None else delivery.result(), error)
