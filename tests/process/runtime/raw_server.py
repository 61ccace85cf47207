"""A process that serves the raw test service until it is killed: `python raw_server.py PORT`."""

import asyncio
import sys

import uvloop

from tests.process.runtime.raw_rpc import NAME, Raw, add_to_server
from tidelog.runtime.grpc_edge import server
from tidelog.runtime.readiness import Readiness


async def main(port: str) -> None:
    async with server(f"127.0.0.1:{port}", [(add_to_server, Raw())], [NAME], Readiness()):
        sys.stdout.write("serving\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


uvloop.run(main(sys.argv[1]))
