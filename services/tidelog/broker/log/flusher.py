"""A thread that runs flush jobs and removals, and hands the results back to the owner of the logs."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from tidelog.broker.log.flush import finish_flush, start_flush

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.files import Files
    from tidelog.broker.log.flush import FlushJob
    from tidelog.broker.log.log import Log
    from tidelog.broker.log.trash import Removal


class Flusher:
    """One flush at a time for each log. `post` runs a function in the owner's thread, soon."""

    def __init__(self, files: "Files", post: "Callable[[Callable[[], None]], object]") -> None:
        self._files = files
        self._post = post
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="log-flusher")
        self._busy: set[Log] = set()

    def flush(self, log: "Log", now_ms: int, on_done: "Callable[[OSError | None], None] | None" = None) -> bool:
        """Make a log durable up to its present end. False, and no call of `on_done`, if one is under way already."""
        if log in self._busy or log.is_offline:
            return False
        self._busy.add(log)
        job = start_flush(log)
        done = self._threads.submit(job.run, self._files)
        done.add_done_callback(lambda f: self._post(lambda: self._flushed(log, job, now_ms, f, on_done)))
        return True

    def _flushed(
        self,
        log: "Log",
        job: "FlushJob",
        now_ms: int,
        done: "Future[None]",
        on_done: "Callable[[OSError | None], None] | None",
    ) -> None:
        self._busy.discard(log)
        error = done.exception()
        if error is None:
            finish_flush(log, job, now_ms)
        elif isinstance(error, OSError):
            # After a failed sync nobody knows what is on the disk: the directory cannot be trusted any more. But a log
            # that was deleted meanwhile is offline, and its files are gone for that reason.
            if not log.is_offline:
                log.io_failed(error)
        else:
            raise error
        if on_done is not None:
            on_done(error)

    def remove(self, removal: "Removal", on_error: "Callable[[OSError], None]") -> None:
        """Delete files and directories that nobody uses any more."""

        def report(done: "Future[None]") -> None:
            error = done.exception()
            if isinstance(error, OSError):
                failure = error
                self._post(lambda: on_error(failure))

        self._threads.submit(removal.run, self._files).add_done_callback(report)

    def close(self) -> None:
        """Wait until everything that was begun is done."""
        self._threads.shutdown(wait=True)
