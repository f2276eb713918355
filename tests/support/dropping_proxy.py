"""A TCP proxy on loopback that can drop everything, as a network between two machines may, and can
say of its connections where they come from, as a balancer does."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

PIECE_BYTES = 1 << 16


@dataclass
class DroppingProxy:
    """Listens on `port` for one target. While it is parted nothing passes, in either direction, and
    no connection learns of it; those that were open then are dead when it is joined again."""

    port: int = 0
    target_port: int = 0
    address: str = "127.0.0.1"
    """That it calls the target from."""
    pieces: tuple[bytes, ...] = ()
    """Pieces that the proxy sends first, such as a PROXY header."""
    _is_parted: bool = field(default=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False)
    _links: "set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]]" = field(
        default_factory=set, repr=False
    )

    def part(self) -> None:
        self._is_parted = True

    def join(self) -> None:
        """Connections that were open meanwhile are reset."""
        if not self._is_parted:
            return
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._reset(), self._loop).result(10)

    async def _reset(self) -> None:
        for link in list(self._links):
            for writer in link:
                writer.transport.abort()
        self._is_parted = False

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        while self._is_parted:
            await asyncio.sleep(0.02)  # as if the first packet were sent again and again
        try:
            far, forth = await asyncio.open_connection(
                "127.0.0.1", self.target_port, local_addr=(self.address, 0)
            )
            for piece in self.pieces:
                forth.write(piece)
                await asyncio.sleep(0.005)  # each is a packet
        except OSError:
            back.transport.abort()
            return
        link = back, forth
        self._links.add(link)
        try:
            await asyncio.gather(self._copy(near, forth), self._copy(far, back))
        finally:
            self._links.discard(link)
            for writer in link:
                writer.close()

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(PIECE_BYTES):
                while self._is_parted:
                    await asyncio.sleep(0.02)
                    if sink.is_closing():
                        return
                sink.write(piece)
                await sink.drain()
        with suppress(OSError, RuntimeError):
            sink.write_eof() if sink.can_write_eof() else None


@contextmanager
def dropping_proxy(
    target_port: int, address: str = "127.0.0.1", pieces: tuple[bytes, ...] = ()
) -> Iterator[DroppingProxy]:
    """A proxy in a thread of its own until the end."""
    proxy = DroppingProxy(target_port=target_port, address=address, pieces=pieces)
    ready, stop = threading.Event(), asyncio.Event()

    async def run() -> None:
        proxy._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(proxy._serve, "127.0.0.1", proxy.port)
        proxy.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await stop.wait()
            for link in list(proxy._links):
                for writer in link:
                    writer.transport.abort()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield proxy
    finally:
        proxy._is_parted = False
        assert proxy._loop is not None
        proxy._loop.call_soon_threadsafe(stop.set)
        thread.join(10)
