"""Connections of the gateway against a server that writes exact bytes."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ethogram.service import upstream as module
from ethogram.service.server import bind
from ethogram.service.upstream import FAILURES, Upstream
from waiting import PATIENCE_SECONDS

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def against(
    answers: list[bytes], act: Callable[[Upstream], Awaitable[Any]], *, tls: ssl.SSLContext | None = None
) -> tuple[Any, int]:
    """What an act returns against a server with these answers, one to each request; its connections.

    An answer that is empty or ends with `|` ends the connection.
    """
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while answers:
                await reader.readuntil(b"\r\n\r\n")
                answer = answers.pop(0)
                writer.write(answer.removesuffix(b"|"))
                await writer.drain()
                if not answer or answer.endswith(b"|"):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def run() -> Any:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        upstream = Upstream(f"{'https' if tls else 'http'}://127.0.0.1:{port}")
        try:
            return await act(upstream)
        finally:
            upstream.close()
            server.close()

    return asyncio.run(run()), connections


async def get(upstream: Upstream) -> tuple[int, bytes]:
    connection = await upstream.send("GET", b"/", [], b"")
    try:
        status, _ = await connection.response()
        return status, b"".join([piece async for piece in connection.pieces()])
    finally:
        upstream.done(connection)


async def get_twice(upstream: Upstream) -> list[tuple[int, bytes]]:
    return [await get(upstream), await get(upstream)]


async def get_twice_later(upstream: Upstream) -> list[tuple[int, bytes]]:
    """Two answers; before the second, word has come of what the server did after the first."""
    first = await get(upstream)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while any(connection.is_usable for connection in upstream._idle):
            await asyncio.sleep(0.01)
    return [first, await get(upstream)]


OK = (200, b"ok")


def test_a_connection_is_used_again() -> None:
    assert against([WHOLE, WHOLE], get_twice) == ([OK, OK], 1)


@pytest.mark.parametrize(
    "first",
    [
        WHOLE + b"|",
        WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        b"HTTP/1.1 200 OK\r\n\r\nok|",
        # What a server says unasked is never taken for the next answer.
        WHOLE + b"HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_a_connection_that_ended_or_said_more_is_not_used_again(first: bytes) -> None:
    assert against([first, WHOLE], get_twice_later) == ([OK, OK], 2)


def test_an_interim_answer_is_left_out() -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    assert against([hint + WHOLE], get) == (OK, 1)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok|",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
    ],
)
def test_an_answer_that_is_none_or_cut_short_is_a_failure(answer: bytes) -> None:
    with pytest.raises(FAILURES):
        against([answer], get)


def test_a_server_that_does_not_answer_is_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ", 0.1)
    with pytest.raises(TimeoutError):
        against([b"HTTP/1.1 ", WHOLE], get)


def test_a_certificate_that_is_not_trusted_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out"]
    subprocess.run([*made, str(certificate), *name], check=True, capture_output=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    with pytest.raises(ssl.SSLCertVerificationError):
        against([WHOLE], get, tls=tls)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(module.httpx2, "create_ssl_context", lambda **_: trusting)
    assert against([WHOLE, WHOLE], get_twice, tls=tls) == ([OK, OK], 1)


def test_small_packets_are_not_delayed() -> None:
    async def accepted() -> int:
        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            sockets.append(writer.get_extra_info("socket"))

        sockets: list[Any] = []
        bound = bind("127.0.0.1", 0)
        async with await asyncio.start_server(serve, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            while not sockets:
                await asyncio.sleep(0.01)
            value: int = sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            writer.close()
            return value

    # Else the second half of an answer waits 40 ms for word of the first.
    assert asyncio.run(accepted())


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [("GET", b"", None), ("GET", b"{}", b"2"), ("POST", b"", b"0"), ("POST", b"{}", b"2")],
)
def test_a_request_says_how_long_its_body_is_unless_it_needs_none(
    method: str, body: bytes, length: bytes | None
) -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(WHOLE)
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        upstream = Upstream(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        try:
            connection = await upstream.send(method, b"/", [], body)
            assert (await connection.response())[0] == 200
            upstream.done(connection)
        finally:
            upstream.close()
            server.close()

    asyncio.run(run())
    lengths = [line[16:] for line in heads[0].split(b"\r\n") if line.lower().startswith(b"content-length: ")]
    assert lengths == ([] if length is None else [length])
