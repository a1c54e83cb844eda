"""Pages of conversations with an assistant: all by risk, and one turn by turn with its risk curve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from ...chat.records import MODES
from ...models import Detection, Event
from ...models.roles import is_by_service
from ...report import plots, svg
from ...report.svg import number
from ...report.wording import pairs_text, plural, ranked
from ...signals import Measurer, Options
from ...signals.chat import role_of
from ...store.windows import Thread, thread_events, threads, within
from ..html import Part, render
from ..request_checks import Refused
from ..routes import CanRead, Offset, Running
from ..state import Service

router = APIRouter(include_in_schema=False)
PAGE = 100
"""Threads that are looked at for one page, the newest."""
EVENTS = 2_000
"""Messages that are read for one page."""
TURNS = 1_000
WHOLE, ALONE, MODE = "conversation_risk", "risk", "conversation_mode"
MOVES = (
    "risky_request", "risky_words", "vehicle", "disguised_text", "danger_ladder", "query_line",
    "refusal_return", "topic_return", "split_request", "resampling",
)  # fmt: skip
"""Readings that say why a turn is risky."""
SHOWN = 0.05


class Turn(NamedTuple):
    """A turn; `risk` is that of the conversation so far, or of the turn where only that is known."""

    number: int
    event: Event
    by_service: bool
    risk: float
    mode: str
    why: str
    detections: tuple[Detection, ...]


class Chat(NamedTuple):
    """A conversation with its turns."""

    source: str
    thread: str
    subject: str
    turns: tuple[Turn, ...]
    is_whole: bool
    """Whether the risk is of the conversation; else of each turn by itself."""

    @property
    def highest(self) -> Turn:
        return max(self.turns, key=lambda turn: turn.risk)

    @property
    def curve(self) -> Markup:
        links = [f"#turn-{turn.number}" for turn in self.turns]
        return plots.curve([turn.risk for turn in self.turns], [turn.mode for turn in self.turns], links)

    @property
    def sparkline(self) -> Markup:
        risks = [turn.risk for turn in self.turns]
        last = max(1, len(risks) - 1)
        points = " ".join(
            f"{number(100 * k / last)},{number(20 - 18 * risk)}" for k, risk in enumerate(risks)
        )
        line = svg.tag("polyline", points=points)
        box = {"viewBox": "0 0 100 22", "preserveAspectRatio": "none", "width": 110, "height": 22}
        return svg.tag("svg", line, class_="spark", **box, aria_hidden="true")


@router.get("/chats")
def chats_page(request: Request, service: Running, key: CanRead, offset: Offset = 0) -> Response:
    """Conversations by the highest risk they reached."""
    service.note_look(key, "chats")
    rows, total = threads(service.store, "message", limit=PAGE, offset=offset)
    rows = list(within(rows, EVENTS))
    events = thread_events(service.store, [(row.source, row.thread) for row in rows], most=EVENTS)
    chats = chats_of(service, events)
    found = detections_of(service, events)
    heading = plural(len(chats), "conversation")
    if chats and (mode := chats[0].highest.mode) != MODES[0]:
        reached = sum(chat.highest.mode == mode for chat in chats)
        heading = f"{plural(reached, 'conversation')} reached {mode}"
    return render(
        request,
        "chats.html",
        heading=heading,
        chats=[(chat, ranked(found.get((chat.source, chat.thread), ()))) for chat in chats],
        next=offset + len(rows) if offset + len(rows) < total else None,
        mode_mark=mode_mark,
    )


@router.get("/chats/{source}/{thread}")
def chat_page(request: Request, service: Running, key: CanRead, source: Part, thread: Part) -> Response:
    """One conversation: the risk over its turns, and why."""
    events = thread_events(service.store, [(source, thread)], most=EVENTS)
    chats = chats_of(service, events)
    if not chats:
        raise Refused(404, "not_found", f"no conversation is named {thread!r:.80}")
    chat = chats[0]
    service.note_look(key, "chat", chat.subject)
    return render(
        request,
        "chat.html",
        chat=chat,
        detections=ranked(detections_of(service, events).get((source, thread), ())),
        most=TURNS,
        has_text=any(turn.event.text for turn in chat.turns),
        mode_mark=mode_mark,
    )


def mode_mark(mode: str) -> Markup:
    """The name of a mode in its colour."""
    return svg.tag("span", mode, class_=f"mode l-{plots.SEVERITY_OF[mode]}")


def detections_of(service: Service, events: Sequence[Event]) -> dict[Thread, list[Detection]]:
    """The standing detections of these people by thread."""
    who = {(event.source, event.subject) for event in events}
    found: dict[Thread, list[Detection]] = {}
    for item in service.store.detections(subjects=who, parts=False) if who else ():
        if item.thread is not None and item.status != "shadow":
            found.setdefault((item.source, item.thread), []).append(item)
    return found


def chats_of(service: Service, events: Iterable[Event]) -> list[Chat]:
    """The conversations among events, those with the highest risk first.

    A conversation is a thread in which a person and an assistant speak, or whose turns have a risk.
    """
    by_thread: dict[Thread, list[Event]] = {}
    for event in events:
        if event.kind == "message" and event.thread is not None:
            by_thread.setdefault((event.source, event.thread), []).append(event)
    found = detections_of(service, [event for own in by_thread.values() for event in own])
    chats = []
    for key, own in by_thread.items():
        if not any(
            role_of(event.attributes) or ALONE in event.readings or WHOLE in event.readings for event in own
        ):
            continue
        measurer = Measurer((WHOLE, ALONE, MODE, *MOVES), Options.of(service.settings))
        measured = [measurer.measure(event) for event in own]
        is_whole = any(WHOLE in event.readings for event in measured)
        person = next((event.subject for event in own if not is_by_service(event)), own[0].subject)
        turns = tuple(turns_of(measured, WHOLE if is_whole else ALONE, found.get(key, ())))
        chats.append(Chat(*key, person, turns, is_whole))
    return sorted(chats, key=lambda chat: (-chat.highest.risk, chat.source, chat.thread))


def turns_of(events: Sequence[Event], signal: str, detections: Sequence[Detection]) -> Iterator[Turn]:
    """The turns in order; one without a reading of the risk has that of the turn before."""
    fired: dict[str, list[Detection]] = {}
    for item in detections:
        fired.setdefault(item.fired_event or item.last_event, []).append(item)
    risk, mode = 0.0, MODES[0]
    for place, event in enumerate(events, start=1):
        value = event.readings.get(signal)
        if isinstance(value, (int, float)):
            risk = min(max(float(value), 0.0), 1.0)
            known = event.readings.get(MODE) if signal == WHOLE else None
            mode = known if isinstance(known, str) and known in plots.SEVERITY_OF else mode_of(risk)
        moves = {
            name.replace("_", " "): round(reading, 2)
            for name in MOVES
            if isinstance(reading := event.readings.get(name), (int, float)) and reading >= SHOWN
        }
        yield Turn(
            place, event, is_by_service(event), risk, mode, pairs_text(moves), tuple(fired.get(event.id, ()))
        )


def mode_of(risk: float) -> str:
    """The mode in whose band a risk lies.

    >>> mode_of(0.0), mode_of(0.31), mode_of(1.0)
    ('SAFE', 'ELEVATED', 'UNSAFE')
    """
    return next(mode for mode, floor, _ in reversed(plots.BANDS) if risk >= floor)
