"""Progress on stderr, so that stdout is free for what a caller wants to read."""

import sys
import time

_BEGAN = time.monotonic()


def say(text: str) -> None:
    print(f"[{time.monotonic() - _BEGAN:6.1f} s] kube: {text}", file=sys.stderr, flush=True)


def elapsed_s() -> float:
    return time.monotonic() - _BEGAN
