"""The CPU that servers use while something is measured, and that others use meanwhile."""

import time

import psutil


class Meter:
    """Runs from the moment when it is made until it is stopped."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._processes = [psutil.Process(pid) for pid in pids.values()]
        self._begun = (time.perf_counter(), self._servers(), self._all_but_this())
        self.seconds = 0.0
        # Of the servers; of everybody else but this client, in cores.
        self.cpu_seconds = 0.0
        self.cores_of_others = 0.0

    def stop(self) -> None:
        begun, servers, others = self._begun
        self.seconds = time.perf_counter() - begun
        self.cpu_seconds = self._servers() - servers
        self.cores_of_others = max(0.0, (self._all_but_this() - others - self.cpu_seconds) / self.seconds)

    def _servers(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._processes)

    def _all_but_this(self) -> float:
        busy = psutil.cpu_times()
        return busy.user + busy.system + busy.nice - time.process_time()
