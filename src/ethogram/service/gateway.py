"""The gateway: passes requests on to one chat API and scores the conversations (`ethogram proxy`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from ..app.live.receiver import Receiver
from ..errors import BadUsage
from ..ingest.values import as_dict
from ..models.slotted import dataclass
from ..remote.address import check_address
from ..store import open_event_store
from ..store.records import PROXY, TALKS, Added, Store
from .chat_states import ChatTurn
from .chats import LONGEST_ID, Chats, Place
from .keys import ROLES, KeyRing
from .options import ServeOptions
from .policy import Policy, headers_of, note_of, sentence_of
from .request_checks import BODY_SECONDS, Refused, check_request
from .state import Service, log
from .upstream import FAILURES, Connection, Headers, Upstream
from .wire import (
    CHAT_PATHS,
    NOT_SCORED_PATHS,
    AnswerReader,
    failure,
    messages_of,
    refusal,
    subject_of,
    with_note,
)
from .writer import Writer

PORT = 8766
FAILS = ("open", "closed")
KEY_HEADER = b"x-ethogram-key"
CONVERSATION = b"x-conversation-id"
# What belongs to one connection, and what is ours; a proxy passes neither on.
NOT_PASSED = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"transfer-encoding", b"upgrade", b"host", b"content-length", b"expect", b"accept-encoding",
    b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", KEY_HEADER, CONVERSATION,
})  # fmt: skip
NOT_RETURNED = NOT_PASSED - {b"content-length"}
Score = Callable[[], Awaitable["Place | None"]]
NOT_SCORED = [(b"x-ethogram-error", b"not scored")]


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """What a gateway is started with."""

    upstream: str
    serve: ServeOptions
    """Where it listens, its settings and limits; its store where `keeps`."""
    keeps: bool = False
    policy: Policy = Policy("annotate")
    fail: str = "open"
    """Whether a request that could not be scored passes (open) or is refused (closed)."""
    allow_http: bool = False
    deadline: float = 5.0
    """Seconds for scoring."""


class Gateway:
    """An ASGI application in front of one server. Nothing but that server is ever contacted."""

    def __init__(self, options: ProxyOptions) -> None:
        if options.fail not in FAILS:
            raise BadUsage(f"invalid fail {options.fail!r:.40}: expected open or closed")
        address = check_address("upstream", options.upstream, options.allow_http)
        self._options, serve = options, options.serve
        # A client's own paths begin with /v1, whether or not the address of the upstream ends with it.
        self._upstream = Upstream(address.removesuffix("/v1"))
        self._store: Store | None = open_event_store(serve.store) if options.keeps else None
        self._keys = None if self._store is None else KeyRing(self._store)
        if not serve.is_local and (self._keys is None or self._keys.is_empty):
            raise BadUsage(
                f"refusing to listen on {serve.host}: without API keys only this machine may connect; make "
                "one with `ethogram keys new NAME --store URL` and start the proxy with that --store"
            )
        self._intake = Receiver(serve.settings, keep_text=serve.keep_text)
        self._writer: Writer | None = None
        if self._store is not None:
            self._writer = Writer(
                self._store, keep_text=serve.keep_text, most=serve.waiting, on_written=lambda _: None
            )
        self.chats = Chats(
            serve.settings,
            store=self._store,
            emit=self._write if self._writer else None,
            clock=Service.now,
        )
        self.chats.warm()
        if self._writer is not None:
            self._intake.warm()
        self._tasks: set[asyncio.Task[Any]] = set()

    def _write(self, lines: list[dict[str, Any]]) -> Future[Added]:
        assert self._writer is not None
        now = Service.now()
        records = [(number, line, 0) for number, line in enumerate(lines, 1)]
        received = self._intake.collect(records, self._writer.kinds, source=TALKS, now=now)
        return self._writer.submit(received, now)

    def close(self) -> None:
        """Write what waits."""
        self.chats.close()
        if self._writer is not None:
            self._writer.close()
        if self._store is not None:
            self._store.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003})
        else:
            await Exchange(self, scope, receive, send).run()

    async def _live(self, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        assert message
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        self._upstream.close()
        await asyncio.to_thread(self.close)
        await send({"type": "lifespan.shutdown.complete"})

    async def refresh_keys(self) -> None:
        """Read the keys again where they are stale, while other requests go on."""
        if self._keys is not None and not self._options.serve.is_local and self._keys.is_stale:
            await asyncio.to_thread(self._keys.refresh)

    def check(self, scope: Scope) -> str | None:
        """The name of the client's key; None where none is needed.

        Refused where a request is for another host, from another site, without a key or for a bad path.
        """
        owner = None
        serve = self._options.serve
        request = Request(scope)
        check_request(request, serve)
        if not serve.is_local:
            secret = request.headers.get(KEY_HEADER.decode(), "")
            key = self._keys.find(secret) if self._keys is not None and secret else None
            if key is None or "ingest" not in ROLES[key.role]:
                raise Refused(401, "no_key", "expected an API key of ethogram in the header x-ethogram-key")
            owner = key.name
        path = unquote_to_bytes(scope["raw_path"])
        parts = path.split(b"/")
        if not path.startswith(b"/") or b"\\" in path or b".." in parts or b"." in parts or b"//" in path:
            raise Refused(400, "bad_path", "invalid path: expected no empty parts, dots or backslashes")
        return owner

    @property
    def options(self) -> ProxyOptions:
        return self._options

    @property
    def upstream(self) -> Upstream:
        return self._upstream

    async def send(self, scope: Scope, body: bytes) -> Connection:
        """The connection to the upstream on which a request was sent."""
        headers = [(name, value) for name, value in scope["headers"] if _passes(name, NOT_PASSED)]
        # Plain, so that the answer can be read on its way.
        headers.append((b"accept-encoding", b"identity"))
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        return await self._upstream.send(scope["method"], target, headers, body)

    async def score(
        self, api: str, fields: dict[str, Any], name: str | None, owner: str | None
    ) -> Place | None:
        """Where the conversation of a request stands; None where it holds no turn."""
        subject, messages = subject_of(api, fields), messages_of(api, fields)
        async with asyncio.timeout(self._options.deadline):
            return await self.chats.follow(messages, name=name, subject=subject, source=PROXY, owner=owner)

    def later(self, work: Awaitable[Any]) -> None:
        """Do something behind the response."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                log.warning("an answer was not scored: %s", type(error).__name__)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _passes(name: bytes, left_out: frozenset[bytes]) -> bool:
    return name.lower() not in left_out and not name.lower().startswith(b"x-ethogram-")


class NotScored(Exception):
    """A request that could not be scored."""


class Exchange:
    """One request and its response."""

    def __init__(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        self._gateway, self._scope, self._receive, self._send = gateway, scope, receive, send
        self._options = gateway.options
        path = scope["path"].rstrip("/")
        is_post = scope["method"] == "POST"
        self._api = CHAT_PATHS.get(path) if is_post else None
        self._is_unscored = is_post and path in NOT_SCORED_PATHS
        self._is_gone = self._is_begun = False
        self._connection: Connection | None = None
        self._owner: str | None = None

    async def run(self) -> None:
        try:
            await self._gateway.refresh_keys()
            self._owner = self._gateway.check(self._scope)
            if len(self._header(CONVERSATION) or "") > LONGEST_ID:
                limit = f"invalid X-Conversation-Id: expected at most {LONGEST_ID} characters"
                raise Refused(400, "bad_conversation", limit)
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._body()
        except TimeoutError:
            await self._answer(408, failure(self._api, "too_slow", "the request did not arrive in time"))
            return
        except Refused as refused:
            await self._answer(refused.status, failure(self._api, refused.code, refused.message))
            return
        watch = asyncio.create_task(self._watch())
        try:
            if self._is_unscored:
                await self._not_scored(body, "this API is not scored")
            elif self._api is None:
                await self._pass_on(body)
            else:
                await self._chat(self._api, body)
        except FAILURES as error:
            await self._failed(error)
        finally:
            watch.cancel()

    async def _failed(self, error: Exception) -> None:
        """Say that the upstream failed, unless nobody listens any more."""
        if self._is_gone:
            return
        if self._is_begun:
            # A connection that ends early says that the rest is missing.
            raise ConnectionAbortedError("the upstream broke off") from None
        if isinstance(error, TimeoutError):
            await self._answer(504, failure(self._api, "upstream_timeout", "the upstream is too slow"))
        else:
            await self._answer(502, failure(self._api, "upstream_failed", "the upstream cannot be reached"))

    async def _chat(self, api: str, body: bytes) -> None:
        try:
            fields, name = self._fields(body), self._header(CONVERSATION)
            score = partial(self._gateway.score, api, fields, name, self._owner)
            if self._options.policy.is_passive:
                # Both at once: what is measured only goes into the headers.
                await self._pass_on(body, score=score)
                return
            place = await _scored(score)
        except NotScored as error:
            await self._not_scored(body, str(error))
            return
        if place is None or (turn := place.standing) is None:
            await self._pass_on(body)
            return
        action = self._options.policy.action(turn.mode)
        if action == "refuse":
            sentence = sentence_of(turn)
            kind, content = refusal(api, fields, sentence)
            await self._answer(200, content, kind, _risk_headers(self._options.policy, turn))
            self._gateway.later(self._gateway.chats.answer(place, sentence))
            return
        if action == "note":
            body = with_note(api, fields, note_of(turn))
        await self._pass_on(body, place)

    async def _not_scored(self, body: bytes, why: str) -> None:
        if self._options.fail == "closed":
            message = f"the request was not passed on, since it could not be scored: {why}"
            await self._answer(503, failure(self._api, "not_scored", message))
        else:
            await self._pass_on(body, more=NOT_SCORED)

    async def _pass_on(
        self,
        body: bytes,
        place: Place | None = None,
        *,
        score: Score | None = None,
        more: Headers | None = None,
    ) -> None:
        """Send a request on, and its response back as it comes; score it while the upstream works."""
        connection = self._connection = await self._gateway.send(self._scope, body)
        try:
            if score is not None:
                try:
                    place = await _scored(score)
                except NotScored as error:
                    if self._options.fail == "closed":
                        await self._not_scored(body, str(error))
                        return
                    more = NOT_SCORED
            await self._return(connection, place, more or [])
        finally:
            self._connection = None
            self._gateway.upstream.done(connection)

    async def _return(self, connection: Connection, place: Place | None, more: Headers) -> None:
        status, received = await connection.response()
        headers = [(name, value) for name, value in received if _passes(name, NOT_RETURNED)]
        if place is not None and place.standing is not None:
            more = [*more, *_risk_headers(self._options.policy, place.standing)]
        self._is_begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
        reader = None
        if self._api is not None and place is not None and status == 200:
            kind = next((value for name, value in received if name == b"content-type"), b"")
            reader = AnswerReader(self._api, kind.decode("latin-1"))
        async for piece in connection.pieces():
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            if reader is not None:
                reader.feed(piece)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        if reader is not None and place is not None and (answer := reader.close()) is not None:
            text, calls = answer
            self._gateway.later(self._gateway.chats.answer(place, text, calls))

    def _fields(self, body: bytes) -> dict[str, Any]:
        if self._header(b"content-encoding") not in (None, "identity"):
            raise NotScored("its body is compressed")
        try:
            fields = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise NotScored("its body is not JSON") from None
        return as_dict(fields)

    def _header(self, name: bytes) -> str | None:
        values = [value for key, value in self._scope["headers"] if key == name]
        return values[0].decode("latin-1").strip() or None if values else None

    async def _body(self) -> bytes:
        most, parts, size = self._options.serve.body_bytes, [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "cut_short", "the body is cut short")
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise Refused(413, "too_large", f"the request is too large: expected at most {most:,} bytes")
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True
        if self._connection is not None:
            self._connection.abort()

    async def _answer(
        self,
        status: int,
        body: bytes,
        kind: str = "application/json",
        more: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), *more]
        if status == 503:
            headers.append((b"retry-after", b"1"))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def _risk_headers(policy: Policy, turn: ChatTurn) -> Headers:
    if policy.action(turn.mode) == "pass":
        return []
    return [(name.encode(), value.encode()) for name, value in headers_of(turn).items()]


async def _scored(score: Score) -> Place | None:
    try:
        return await score()
    except TimeoutError:
        raise NotScored("scoring took too long") from None
    except Exception as error:
        log.warning("a request was not scored: %s", type(error).__name__)
        raise NotScored(type(error).__name__) from error
