"""A server that accepts a connection and does not answer it, as one that is starting does."""

import asyncio

from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.zk.session import ZkSession


async def test_an_unanswered_greeting_is_given_up_soon_and_repeated(zookeeper: EmbeddedZookeeper) -> None:
    ignored: list[asyncio.StreamWriter] = []
    opened: list[asyncio.StreamWriter] = []
    relays: list[asyncio.Task[None]] = []

    async def relay(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not ignored:
            ignored.append(writer)
            return
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", zookeeper.port)
        opened.extend((writer, there_writer))
        relays.append(asyncio.create_task(relay(reader, there_writer)))
        relays.append(asyncio.create_task(relay(there_reader, writer)))

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with ZkSession(f"127.0.0.1:{port}", 18_000) as session:
            await asyncio.wait_for(session.connected(), 10)
            assert ignored, "the first greeting was to be left unanswered"
        for task in relays:
            task.cancel()
        for writer in (*ignored, *opened):
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)
