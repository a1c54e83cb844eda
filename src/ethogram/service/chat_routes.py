"""Chat turns in: one at a time, from LiteLLM's guardrail, and from its log of finished calls."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import Future
from datetime import datetime
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ..app.chat.conversation import moment_of, role_of
from ..errors import BadUsage
from ..fields import InputStruct, Role
from ..ingest.values import as_dict, as_dicts, as_list, text_at, text_of
from ..models import parse_time
from ..store.records import LITELLM, TALKS, Added
from .chats import LONGEST_ID, Chats, Place
from .keys import ApiKey
from .policy import Policy, sentence_of
from .request_checks import Refused, body_of, json_response, requires
from .routes import TIME
from .state import Service

router = APIRouter()
CanIngest = Annotated[ApiKey | None, Depends(requires("ingest"))]
MOST_CALLS = 10_000
"""Calls of LiteLLM that are remembered, for their answers and for its log of them."""
QUIET = 15.0
"""Seconds after which an answer that was not told again is whole."""
HIDDEN = "[present]"
"""What LiteLLM sends in place of a header that it was not told to pass on."""


class Call:
    """A call of LiteLLM: where it left its conversation, and its answer as far as it was told."""

    def __init__(self, place: Place) -> None:
        self.place, self.text, self.tools = place, "", None
        self.timer: asyncio.TimerHandle | None = None

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class ChatDesk:
    """The conversations of a service, and LiteLLM's calls that are not answered yet."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._chats: Chats | None = None
        if service.store.private() is None:
            self._chats = Chats(service.settings, store=service.store, emit=self._write, clock=service.now)
            threading.Thread(target=self._warm, name="warm", daemon=True).start()
        self._calls: OrderedDict[tuple[str | None, str], Call] = OrderedDict()

    def _warm(self) -> None:
        self.chats.warm()
        self._service.intake.warm()

    def _write(self, lines: list[dict[str, Any]]) -> Future[Added]:
        service, now = self._service, self._service.now()
        records = [(number, line, 0) for number, line in enumerate(lines, 1)]
        received = service.intake.collect(records, service.writer.kinds, source=TALKS, now=now)
        return service.writer.submit(received, now)

    def note_call(self, key: ApiKey | None, name: str, place: Place) -> None:
        """Remember where a call left its conversation: its answer comes without the messages."""
        self._calls[owner_of(key), name] = Call(place)
        while len(self._calls) > MOST_CALLS:
            self._calls.popitem(last=False)[1].stop()

    def call(self, key: ApiKey | None, name: str) -> Call | None:
        return self._calls.get((owner_of(key), name))

    def hear(self, call: Call, text: str, tools: Any) -> None:
        """Take the answer of a call, which is told again and again while it streams."""
        call.stop()
        call.text, call.tools = text, tools
        call.timer = asyncio.get_running_loop().call_later(
            QUIET, lambda: asyncio.ensure_future(self.finish(call))
        )

    async def finish(self, call: Call, at: datetime | None = None) -> None:
        """Count the answer of a call, unless the conversation went on, with it, already."""
        call.stop()
        if call.text and call.place.chat.head == call.place.key:
            await self.chats.answer(call.place, call.text, call.tools, at)

    @property
    def chats(self) -> Chats:
        """The conversations; Refused where the store keeps people under other names."""
        if self._chats is None:
            raise Refused(
                409, "private", "this store keeps people under other names: it takes no conversations"
            )
        return self._chats

    def forget(self, subject: str) -> None:
        """Drop a purged subject's conversations from memory."""
        if self._chats is not None:
            self._chats.forget(subject)

    def close(self) -> None:
        if self._chats is not None:
            self._chats.close()


def owner_of(key: ApiKey | None) -> str | None:
    """Whose conversations a request is about: those of all keys of one name are the same."""
    return None if key is None else key.name


def desk_of(request: Request) -> ChatDesk:
    desk: ChatDesk = request.app.state.chat_desk
    return desk


Desk = Annotated[ChatDesk, Depends(desk_of)]


async def json_of(request: Request) -> Any:
    """The body as JSON; Refused where it is none."""
    service: Service = request.app.state.service
    body = await body_of(request, service.options.body_bytes)
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(400, "bad_json", f"the body is not JSON: {error}") from None


Named = Annotated[str, msgspec.Meta(pattern=r"^[^\u0000]*[^\u0000\s][^\u0000]*$", max_length=LONGEST_ID)]


class TurnBody(InputStruct):
    """A turn as it is sent, for the description of the API."""

    conversation: Named
    text: str
    role: Role = "user"
    at: Annotated[str, TIME] | None = None
    """Without it, now."""
    subject: Annotated[str, msgspec.Meta(pattern=r"^[^\u0000]*$", max_length=512)] | None = None
    """Who speaks to the assistant; an empty one is none."""


@router.post("/v1/chat/turns")
async def add_turn(request: Request, desk: Desk, key: CanIngest) -> Response:
    """Add a turn to a conversation: {"conversation", "role", "text", "at"?, "subject"?}.

    Answers where the conversation stands: risk, mode and reasons. The turn is stored once this is answered.
    """
    fields = as_dict(await json_of(request))
    text, at = fields.get("text"), fields.get("at")
    if not isinstance(text, str):
        raise BadUsage("invalid text: expected the text of the turn")
    if not isinstance(fields.get("subject"), str | None):
        raise BadUsage("invalid subject: expected a name")
    if not isinstance(at, str | None):
        raise BadUsage("invalid at: expected an ISO 8601 time with a zone")
    try:
        when = None if at is None else parse_time(at)
    except ValueError as error:
        raise BadUsage(f"invalid at: {error}") from None
    turn = await desk.chats.append(
        fields.get("conversation", ""),
        role_of(fields.get("role", "user")),
        text,
        subject=fields.get("subject"),
        owner=owner_of(key),
        at=when,
    )
    return json_response(turn.to_dict())


@router.post("/beta/litellm_basic_guardrail_api")
async def guard_call(request: Request, desk: Desk, key: CanIngest) -> Response:
    """LiteLLM's generic guardrail: before a call with its messages, and after it with the answer's texts.

    `additional_provider_specific_params` of its settings hold a `mode` (pass, annotate, refuse) and a
    `policy`, such as ["UNSAFE=refuse"]; a note to the model is not possible here.
    """
    fields = as_dict(await json_of(request))
    options = as_dict(fields.get("additional_provider_specific_params"))
    changes = options.get("policy", [])
    policy = Policy(
        text_at(options, "mode") or "annotate",
        [str(item) for item in as_list(changes)] if isinstance(changes, list) else str(changes).split(),
    )
    call = text_at(fields, "litellm_call_id") or ""
    texts = [text for text in as_list(fields.get("texts")) if isinstance(text, str)]
    if text_at(fields, "input_type") == "response":
        if (known := desk.call(key, call)) is not None:
            desk.hear(known, "\n".join(texts), fields.get("tool_calls"))
        return json_response({"action": "NONE"})
    messages = as_list(fields.get("structured_messages")) or [
        {"role": "user", "content": text} for text in texts
    ]
    metadata = as_dict(fields.get("request_data"))
    place = await desk.chats.follow(
        messages,
        name=_session(as_dict(fields.get("request_headers"))),
        source=LITELLM,
        subject=text_at(metadata, "user_api_key_end_user_id"),
        owner=owner_of(key),
    )
    if place is None or place.standing is None:
        return json_response({"action": "NONE"})
    if call:
        desk.note_call(key, call, place)
    if policy.action(place.standing.mode) != "refuse":
        return json_response({"action": "NONE"})
    return json_response({"action": "BLOCKED", "blocked_reason": sentence_of(place.standing)})


@router.post("/v1/litellm/calls")
async def add_calls(request: Request, desk: Desk, key: CanIngest) -> Response:
    """Finished calls as LiteLLM's `generic_api` callback posts them: a JSON array, or one."""
    body = await json_of(request)
    calls = as_dicts(body if isinstance(body, list) else [body])
    calls.sort(key=lambda call: _seconds(call, "startTime") or 0.0)
    taken = 0
    for call in calls:
        # The guardrail may have seen it already, under a name that is not told here.
        known = desk.call(key, text_at(call, "litellm_call_id") or "")
        if known is None:
            place = await _follow_logged(desk.chats, call, owner_of(key))
            if place is None:
                continue
            known = Call(place)
        taken += 1
        choices = as_dicts(as_dict(call.get("response")).get("choices"))
        answer = as_dict(choices[0].get("message")) if choices else {}
        if not known.text:
            known.text, known.tools = text_of(answer.get("content")), answer.get("tool_calls")
        await desk.finish(known, _time(call, "endTime"))
    return json_response({"calls": len(calls), "taken": taken})


async def _follow_logged(chats: Chats, call: dict[str, Any], owner: str | None) -> Place | None:
    metadata = as_dict(call.get("metadata"))
    headers = as_dict(as_dict(metadata.get("requester_metadata")).get("headers"))
    return await chats.follow(
        as_list(call.get("messages")),
        name=_session({**headers, **as_dict(metadata.get("requester_custom_headers"))}),
        fallback=text_at(call, "trace_id"),
        source=LITELLM,
        subject=text_at(call, "end_user") or text_at(metadata, "user_api_key_end_user_id"),
        owner=owner,
        at=_time(call, "startTime"),
    )


def _session(headers: dict[str, Any]) -> str | None:
    """The conversation's name in the headers of a request, in any case of letters."""
    lower = {name.lower(): value for name, value in headers.items()}
    for name in ("x-litellm-session-id", "x-litellm-trace-id", "x-conversation-id"):
        value = lower.get(name)
        if isinstance(value, str) and value.strip() and value != HIDDEN:
            return value
    return None


def _seconds(call: dict[str, Any], key: str) -> float | None:
    value = call.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(call: dict[str, Any], key: str) -> datetime | None:
    return moment_of(_seconds(call, key))
