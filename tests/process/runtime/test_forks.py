"""A program with a gRPC connection of ours starts other programs, by real forks as PySpark does."""

import subprocess
import sys

PROGRAM = """
import asyncio, subprocess, threading
from tidelog.runtime.grpc_edge import connect, server
from tidelog.runtime.readiness import Readiness

async def converse():
    async with server("127.0.0.1:0", [], [], Readiness()) as serving, connect(f"127.0.0.1:{serving.port}"):
        await asyncio.Event().wait()

threading.Thread(target=asyncio.run, args=(converse(),), daemon=True).start()
codes = [subprocess.run(["sleep", "0.02"], preexec_fn=lambda: None).returncode for _ in range(50)]
print(sum(code != 0 for code in codes))
"""


def test_forks_beside_grpc_start_what_they_should() -> None:
    """With gRPC's own handling of forks, one child in ten died."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0\n", done.stderr
