"""Connections to the server behind the gateway: HTTP/1.1 with little in between, since every turn waits."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import h11
import httpx2

Headers = list[tuple[bytes, bytes]]
CONNECT, READ = 10.0, 600.0
"""Seconds for a connection, and between two pieces of a response."""
MOST, MOST_IDLE = 1_000, 200
"""Connections in use, and those that wait for the next request."""
IDLE = 60.0
"""Seconds after which an unused connection is not used again."""
LONGEST_HEAD = 100 * 1024
FAILURES = (OSError, h11.ProtocolError)
"""What a server that cannot be reached or breaks off raises; TimeoutError where it is too slow."""


class Connection(asyncio.Protocol):
    """One connection, used for one request after the other."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=LONGEST_HEAD)
        self._transport: Any = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_open = True
        self.used_at = monotonic()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        if self._waiter is None:
            # Nobody reads: the server waits, and a server that talks unasked is left alone.
            self._is_open = self._is_open and self._http.our_state is not h11.IDLE
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._is_open = False
        self._http.receive_data(b"")
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_open = False
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def send(self, method: str, target: bytes, headers: Headers, body: bytes) -> None:
        """Write a whole request."""
        http = self._http
        data = http.send(h11.Request(method=method, target=target, headers=headers)) or b""
        data += (http.send(h11.Data(data=body)) or b"") if body else b""
        self._transport.write(data + (http.send(h11.EndOfMessage()) or b""))

    async def response(self) -> tuple[int, Headers]:
        """The status and headers of the response, names in lower case."""
        while isinstance(event := await self._event(), h11.InformationalResponse):
            if event.status_code == 101:
                break
        if not isinstance(event, h11.Response):
            raise ConnectionError("not a response")
        return event.status_code, list(event.headers)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        while isinstance(event := await self._event(), h11.Data):
            yield bytes(event.data)

    async def _event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if not self._is_open:
                raise ConnectionError("the connection ended")
            self._waiter = asyncio.get_running_loop().create_future()
            self._transport.resume_reading()
            try:
                async with asyncio.timeout(READ):
                    await self._waiter
            finally:
                self._waiter = None
        return event

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        return self._is_open and monotonic() - self.used_at < IDLE

    def renew(self) -> bool:
        """Make ready for the next request; False where the last one is not over."""
        states, (unasked, _) = set(self._http.states.values()), self._http.trailing_data
        if not self._is_open or states != {h11.DONE} or unasked:
            return False
        self._http.start_next_cycle()
        self.used_at = monotonic()
        # Open for reading: that is how the end of an unused connection is noticed.
        self._transport.resume_reading()
        return True

    def abort(self) -> None:
        """End it at once."""
        self._is_open = False
        self._transport.abort()
        self._wake()


class Upstream:
    """One server. Nothing else is ever contacted: redirects and proxy variables are not followed."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port
        self._name, self._path = parts.netloc.encode(), parts.path.rstrip("/").encode()
        self._context: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self._context = httpx2.create_ssl_context(trust_env=False)
            self._context.set_alpn_protocols(["http/1.1"])
        self._idle: list[Connection] = []
        self._room = asyncio.Semaphore(MOST)

    async def send(self, method: str, target: bytes, headers: Headers, body: bytes) -> Connection:
        """A connection on which this request was sent; give it back with `done`."""
        if body or method not in ("GET", "HEAD", "OPTIONS"):
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        async with asyncio.timeout(CONNECT):
            await self._room.acquire()
            try:
                connection = await self._connection()
                connection.send(method, self._path + target, [(b"host", self._name), *headers], body)
            except BaseException:
                self._room.release()
                raise
        return connection

    async def _connection(self) -> Connection:
        while self._idle:
            if (connection := self._idle.pop()).is_usable:
                return connection
            connection.abort()
        port = self._port or (80 if self._context is None else 443)
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, self._host, port, ssl=self._context, happy_eyeballs_delay=0.25
        )
        return connection

    def done(self, connection: Connection) -> None:
        """Keep a connection whose response was read to its end for the next request; end any other."""
        self._room.release()
        if len(self._idle) < MOST_IDLE and connection.renew():
            self._idle.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """End what waits."""
        while self._idle:
            self._idle.pop().abort()
