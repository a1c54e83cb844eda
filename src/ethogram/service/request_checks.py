"""What every request passes: host, size, key, headers, and one form of error."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

import msgspec
from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import BadInput, Conflict, EthogramError, NotFound, StoreFailed
from ..store.records import Locked
from .keys import ROLES, ApiKey
from .options import ServeOptions
from .state import Service, log
from .writer import Busy

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Not no-referrer: then a browser would not say of our own forms where they come from.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
BODY_SECONDS = 60.0
"""Seconds in which a request must have arrived."""
COOKIE = "ethogram_key"
STORE_FAILED = "store_failed"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Refused(Exception):
    """A request that is not served: a status, a code for programs and a sentence for people."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        self.status, self.code, self.message, self.more = status, code, message, more
        super().__init__(message)


def error_response(status: int, code: str, message: str, **more: Any) -> Response:
    """The one form of an error: {"error": {"code", "message", ...}}."""
    headers = {"Retry-After": "5" if code == STORE_FAILED else "1"} if status in (429, 503) else {}
    return JSONResponse({"error": {"code": code, "message": message, **more}}, status, headers)


def explain(error: Exception) -> Response:
    """The answer to a request that failed."""
    if isinstance(error, Refused):
        return error_response(error.status, error.code, error.message, **error.more)
    if isinstance(error, Busy):
        return error_response(429, "busy", str(error))
    if isinstance(error, StoreFailed | Locked):
        # Without the error itself, which names the store.
        return error_response(503, STORE_FAILED, "the store cannot be used now; send the request again")
    if isinstance(error, Conflict):
        return error_response(409, "conflict", str(error))
    if isinstance(error, NotFound):
        return error_response(404, "not_found", str(error))
    if isinstance(error, BadInput):
        faults = [fault.to_dict() for fault in error.faults]
        return error_response(400, "bad_input", str(error), faults=faults, more=error.more)
    if isinstance(error, EthogramError):
        return error_response(400, "bad_request", str(error))
    log.error("a request failed: %s", type(error).__name__, exc_info=error)
    return error_response(500, "internal", "the service failed; its log says why")


class Guard:
    """Middleware: refuses foreign hosts and cross-site writes, bounds bodies, adds headers."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun, status = monotonic(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                names = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in HEADERS if h[0] not in names)]
            await send(message)

        try:
            check_request(Request(scope), self._service.options)
        except Refused as refused:
            await explain(refused)(scope, receive, send_with_headers)
            self._service.metrics.refused.labels(refused.code).inc()
            return
        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            # The pattern of the route, not the path: names in paths would be labels without end.
            route = getattr(scope.get("route"), "path", "none")
            labels = (route, scope["method"] if route != "none" else "", str(status))
            self._service.metrics.latency.labels(*labels).observe(monotonic() - begun)


def check_request(request: Request, options: ServeOptions) -> None:
    """Refused where a request is for another host, from a page of another site, or too large."""
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    if name.strip("[]").lower() not in options.known_hosts:
        raise Refused(421, "unknown_host", f"this service is not known as {host!r:.80}; see --allow-host")
    if request.method not in SAFE:
        # A browser says where a request comes from; other programs do not, and need no protection.
        site = request.headers.get("sec-fetch-site", "none")
        origin = request.headers.get("origin")
        if site not in ("same-origin", "none") or (origin and origin.partition("://")[2] != host):
            raise Refused(403, "cross_site", "a page of another site may not do this")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > options.body_bytes:
        raise too_large(options.body_bytes)


def too_large(most: int) -> Refused:
    return Refused(413, "too_large", f"the request is too large: expected at most {most:,} bytes")


async def body_of(request: Request, most: int) -> bytes:
    """The body, unpacked where it is compressed; Refused where it is too large or damaged."""
    parts: list[bytes] = []
    size = 0
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise Refused(415, "encoding", f"unknown content encoding {encoding!r:.40}: expected gzip")
    unpack = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                piece = chunk if unpack is None else unpack.decompress(chunk, most + 1 - size)
                size += len(piece)
                if size > most or (unpack is not None and unpack.unconsumed_tail):
                    raise too_large(most)
                parts.append(piece)
    except TimeoutError:
        raise Refused(408, "too_slow", "the request did not arrive in time") from None
    except zlib.error:
        raise Refused(400, "encoding", "the body is not gzip, though its header says so") from None
    if unpack is not None and not unpack.eof:
        raise Refused(400, "encoding", "the compressed body is cut short")
    return b"".join(parts)


def requires(right: str) -> Callable[[Request], Awaitable[ApiKey | None]]:
    """A dependency: the key of the request, which has this right; None where the service has no keys."""

    async def check(request: Request) -> ApiKey | None:
        service: Service = request.app.state.service
        if service.keys.is_stale:
            await run_in_threadpool(service.keys.refresh)  # a store that is away may not hold up the others
        if service.keys.is_empty:
            return None
        secret = request.headers.get("x-api-key") or request.cookies.get(COOKIE) or ""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            secret = token.strip()
        key = service.keys.find(secret) if secret else None
        if key is None:
            raise Refused(401, "no_key", "expected an API key: Authorization: Bearer KEY or x-api-key: KEY")
        if not service.keys.takes(key):
            raise Refused(429, "rate", f"the key {key.name!r:.60} may make {key.rate:,} requests a minute")
        if right not in ROLES[key.role]:
            expected = " or ".join(role for role, rights in ROLES.items() if right in rights)
            raise Refused(
                403, "role", f"the key {key.name!r:.60} has the role {key.role}: expected {expected}"
            )
        return key

    return check


def json_response(value: Any, status: int = 200) -> Response:
    """JSON of records and plain data."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")
