"""Runs seeds of the simulation, on all processors, and prints every one that breaks something.

python -m tests.sim.run --seeds 200                  seeds 0 to 199
python -m tests.sim.run --first 4711 --trace 400     one seed again, with the last lines of its trace
python -m tests.sim.run --seeds 40 --bug 2           until the planted bug is found
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.support.sim.bugs import BUGS, GROUP_BUGS
from tests.support.sim.scenario import Outcome, run_seed

# Sets are walked in an order that depends on the hash of text. One fixed order makes a seed the same everywhere.
_HASH_SEED = {"PYTHONHASHSEED": "0"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--trace", type=int, default=80, help="lines of the trace to print where something broke")
    parser.add_argument("--bug", type=int, help="plant this bug, and end when it is found")
    parser.add_argument("--groups", action="store_true", help="with coordinators, groups and transactions")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    bug = None if asked.bug is None else list(_bugs(asked.groups))[asked.bug]
    run = partial(_run, bug=bug, trace_lines=asked.trace, with_groups=asked.groups)
    again = "make sim GROUPS=1" if asked.groups else "make sim"
    broken, events = 0, 0
    for outcome in _outcomes(run, range(asked.first, asked.first + asked.seeds), one_by_one=bug is not None):
        events += outcome.events
        if outcome.broken is not None:
            broken += 1
            sys.stdout.write(f"{outcome}\nonce more: {again} FIRST={outcome.seed} SEEDS=1\n\n")
            sys.stdout.flush()
            if bug is not None:
                break
        elif asked.seeds == 1:
            sys.stdout.write(f"{outcome}\n")
    sys.stdout.write(f"{asked.seeds} seeds from {asked.first}, {events} events, {broken} broken\n")
    return 1 if broken else 0


def _outcomes(run: Callable[[int], Outcome], seeds: range, *, one_by_one: bool) -> Iterator[Outcome]:
    """In the order of the seeds. Who looks for a planted bug wants the first that finds it, and no more."""
    if len(seeds) == 1 or one_by_one:
        yield from map(run, seeds)
        return
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(run, seeds, chunksize=5)


def _run(seed: int, bug: str | None, trace_lines: int, *, with_groups: bool) -> Outcome:
    logging.disable(logging.CRITICAL)
    planted = None if bug is None else _bugs(with_groups)[bug]
    return run_seed(seed, planted, trace_lines, with_groups=with_groups)


def _bugs(with_groups: bool) -> Mapping[str, Mapping[str, object]]:
    return GROUP_BUGS if with_groups else BUGS


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != _HASH_SEED["PYTHONHASHSEED"]:
        os.execve(sys.executable, [sys.executable, "-m", "tests.sim.run", *sys.argv[1:]], os.environ | _HASH_SEED)
    sys.exit(main())
