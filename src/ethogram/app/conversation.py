"""Conversation: the risk of a conversation between a person and an assistant, turn by turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Self

from ..chat.conversation import Meaning, Talk, follow, start, talk_from_json, talk_to_json
from ..chat.memory import TOPICS, Topic
from ..chat.records import Change, Mode, Outcome, Signal
from ..chat.state import from_plain, to_plain
from ..config import Settings
from ..errors import BadUsage
from ..fields import Count, Name, Ratio, Role
from ..ingest.collector import future_message, latest_time
from ..language.program import Program
from ..models import Detection, Event, micros, moment
from ..models.constants import ACTIVE_STATUSES
from ..models.record import Record, decimals
from ..patterns.catalogue import load_vocabulary
from ..patterns.library import load_patterns
from ..signals.base import Unmeasured
from ..signals.chat import meaning_of, tuning_of, values_of
from ..store.protocol import TALKS, Store
from .watch import Watch

# What a conversation is given, checked: names, who speaks, what, and when.

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Who may speak. System and tool turns are counted, and say nothing about the risk."""


def name_of(value: object, what: str) -> str:
    """The name of a conversation or a subject; BadUsage where it is none."""
    if not isinstance(value, str) or not value.strip() or len(value) > 512:
        raise BadUsage(f"{what} takes a name of 1 to 512 characters; here is {value!r:.80}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadUsage(f"{what} takes whole characters, no half of a pair; here is {value!r:.80}") from None
    return value


def text_of(value: object) -> str:
    """What was said; BadUsage where it is no text."""
    if not isinstance(value, str):
        raise BadUsage(f"a turn is text; here is {type(value).__name__}")
    return value


def role_of(value: object) -> str:
    """Who speaks: user, assistant, system or tool; BadUsage where it is nobody."""
    role = ROLES.get(value.lower()) if isinstance(value, str) else None
    if role is None:
        raise BadUsage(f"role is user, assistant, system or tool; here is {value!r:.40}")
    return role


def moment_of(value: object) -> datetime | None:
    """When it was said, in UTC; None where that is not known. BadUsage where it is no moment."""
    if value is None:
        return None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise BadUsage(f"at needs a time zone; here is {value.isoformat()}")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise BadUsage(f"at takes a time of the years 1 to 9999 in UTC; here is {value!r:.80}") from None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OverflowError, OSError, ValueError):
            pass
    raise BadUsage(f"at takes a datetime with a time zone, or seconds since 1970; here is {value!r:.80}")


# What is remembered of a subject across conversations: the words of topics that were risky, and no text.
#
# It is kept only where somebody asks for it, in the store, and fades by a fifth with every new conversation.

CONVERSATION_MEMORY_NAME = "conversation_memory"
LEAST = 0.1  # A topic that has faded below this is forgotten


def recall_topics(store: Store, subject: str) -> tuple[Topic, ...]:
    """The risky topics of a subject's conversations so far."""
    kept = store.load_state(CONVERSATION_MEMORY_NAME, subject)
    return () if kept is None else from_plain(tuple[Topic, ...], json.loads(kept))


def keep_topics(store: Store, subject: str, topics: tuple[Topic, ...], at: datetime) -> None:
    """Keep a conversation's risky topics beside what others of the subject left."""
    others = [
        topic
        for topic in recall_topics(store, subject)
        if not any(set(topic.words) & set(t.words) for t in topics)
    ]
    every = sorted((*topics, *others), key=lambda topic: (-topic.risk, topic.words))
    kept = tuple(item for item in every if item.risk >= LEAST)[:TOPICS]
    store.save_state(
        CONVERSATION_MEMORY_NAME,
        subject,
        json.dumps(to_plain(kept)).encode() if kept else None,
        at,
        subject=subject,
    )


# Where a conversation stands after a turn, and why.


@dataclass(frozen=True, slots=True)
class ConversationState(Record):
    """Where a conversation stands after a turn, and why.

    `risk` and `accumulated_risk` are 0..1; `signals` have a value, or None where they could not be measured,
    and a reason each; `detections` are those that opened, rose or closed with this turn; `raised` and
    `lowered` are what changed the risk since the turn before, the greatest first.
    """

    RECORD = "conversation_state"
    DECIMALS = decimals(6, "risk", "accumulated_risk", "intents", "goal_directed")

    conversation: Name
    subject: Name
    turn: Count
    """Of both sides, from 1."""
    role: Role
    risk: Ratio
    accumulated_risk: Ratio
    mode: Mode
    signals: tuple[Signal, ...]
    detections: tuple[Detection, ...]
    raised: tuple[Change, ...]
    lowered: tuple[Change, ...]
    intents: Mapping[str, Ratio]
    goal_directed: Ratio

    @property
    def changes(self) -> tuple[Change, ...]:
        """What raised and what lowered the risk, the greatest first."""
        return tuple(sorted((*self.raised, *self.lowered), key=lambda item: (-abs(item.by), item.name)))

    @property
    def reason(self) -> str:
        """What adds most to the risk, in words."""
        most = max(self.signals, key=lambda signal: signal.adds, default=None)
        return most.reason if most is not None and most.adds > 0 else "nothing stands out"

    def signal(self, name: str) -> Signal:
        """The signal of that name; KeyError where there is none in this turn."""
        for signal in self.signals:
            if signal.name == name:
                return signal
        raise KeyError(name)


def state_of(
    conversation: str, subject: str, outcome: Outcome, detections: tuple[Detection, ...]
) -> ConversationState:
    """The state that a turn's outcome and the detections it brought make up."""
    return ConversationState(
        conversation,
        subject,
        outcome.turn,
        outcome.role,
        outcome.risk,
        outcome.accumulated_risk,
        outcome.mode,
        outcome.signals,
        detections,
        tuple(change for change in outcome.changes if change.by > 0),
        tuple(change for change in outcome.changes if change.by < 0),
        dict(outcome.intents),
        outcome.goal_directed,
    )


# The patterns of a conversation: a watch over the readings of the person's turns.

SOURCE, KIND = TALKS, "turn"
"""Of the events made here. Their kind is not that of messages, since they are measured already."""
CAP = 64  # turns that a pattern may look back on
STEP = timedelta(seconds=1)
TICK = timedelta(microseconds=1)
START, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
MOST_KEPT = 8
_compiled: dict[str, tuple[Program, ...]] = {}
_lock = Lock()


def programs_of(patterns: Sequence[str | Path] | None, settings: Settings) -> tuple[Program, ...]:
    """The compiled patterns: those asked for, or those of conversations that are on. Compiled once."""
    told = (settings.patterns, settings.parameters, settings.status, settings.signals)
    key = repr((None if patterns is None else [str(pattern) for pattern in patterns], *told))
    with _lock:
        if key not in _compiled:
            if len(_compiled) >= MOST_KEPT:
                del _compiled[next(iter(_compiled))]
            _compiled[key] = _programs(patterns, settings)
        return _compiled[key]


def _programs(patterns: Sequence[str | Path] | None, settings: Settings) -> tuple[Program, ...]:
    library = load_patterns(
        ["risk/*"] if patterns is None else patterns,
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )
    if patterns is not None:
        return library.programs
    on = {name for name in library.chosen if library.files[name].status in ACTIVE_STATUSES}
    return tuple(program for program in library.programs if program.pattern in on)


class TurnWatch:
    """Watches the turns of one conversation; they are numbered here, so none comes twice or late."""

    def __init__(self, conversation: str, subject: str, watch: Watch) -> None:
        self._conversation, self._subject, self._watch = conversation, subject, watch
        self._last: datetime | None = None
        self._timed = False
        self._number = 0

    def observe(
        self, values: Mapping[str, float | str | Unmeasured], at: datetime | None
    ) -> tuple[Detection, ...]:
        """What opened, rose or closed with a turn of these readings."""
        self._number += 1
        self._timed = self._timed or at is not None
        event = Event(
            id=f"{self._conversation}:{self._number}",
            at=self._moment(at),
            subject=self._subject,
            seq=self._number,
            source=SOURCE,
            timed=self._timed,
            thread=self._conversation,
            kind=KIND,
            attributes={"role": "user"},
            readings={name: value for name, value in values.items() if not isinstance(value, Unmeasured)},
        )
        detections = self._watch.observe(event)
        self._watch.forget_arrivals()
        return tuple(detections)

    def _moment(self, at: datetime | None) -> datetime:
        # The order of turns is that in which they are told, whatever the clocks say.
        if self._last is None:
            self._last = at or START
        elif at is None:
            self._last = min(self._last, LAST - STEP) + STEP
        else:
            self._last = max(at, min(self._last, LAST - TICK) + TICK)
        return self._last

    def save(self) -> dict[str, Any]:
        """All there is to keep, as JSON's own types."""
        last = None if self._last is None else micros(self._last)
        told = {"last": last, "timed": self._timed, "number": self._number}
        return {**told, "watch": self._watch.save()}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where another was saved."""
        from .watch_state import load

        self._last = None if saved["last"] is None else moment(saved["last"])
        self._timed, self._number = saved["timed"], saved["number"]
        load(self._watch, saved["watch"])


# Conversation: the risk of a conversation between a person and an assistant, turn by turn, live.

FORMAT = 1
NAME = "conversation"  # under which the states of conversations are kept in a store, each by its id
AS_SET: Any = object()


def _now() -> datetime:
    return datetime.now(UTC)


class Conversation:
    """The risk of a conversation between a person and an assistant, turn by turn.

    `embedder`: small (comes along), wordllama or both (the extra `meaning`), None, or an object with `name`
    and `embed`; what is not given is as the settings say. `patterns` are those that make detections; without
    any, those of conversations that are on. `store`: where the state is kept after every turn, an open store
    or the path of a file; a conversation of that id goes on where it was. `memory`: risky topics of the
    subject are remembered from one conversation to the next, in the store. Safe from several threads: turns
    come one after the other, each whole. Of one id let one object at a time write to a store; of two, the
    last to write wins.

    >>> talk = Conversation("c1", subject="kim")
    >>> talk.turn("Should I bring an umbrella?").mode.name
    'SAFE'
    """

    def __init__(
        self,
        id: str,  # noqa: A002 (what a conversation's id is called everywhere)
        *,
        subject: str = "user",
        embedder: Any = AS_SET,
        store: Store | str | Path | None = None,
        memory: bool | None = None,
        patterns: Sequence[str | Path] | None = None,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self.id, self.subject = name_of(id, "id"), name_of(subject, "subject")
        self.settings = settings = settings or Settings()
        how = settings.conversation
        self._meaning = _meaning(how.get("embedder", "small") if embedder is AS_SET else embedder)
        self._tuning = tuning_of(how)
        if memory and store is None:
            raise BadUsage("memory across conversations needs a store; give store='conversations.db'")
        self._remembers = store is not None and bool(how.get("memory", False) if memory is None else memory)
        self._clock, self._lock = clock, RLock()
        self._programs = programs_of(patterns, settings)
        self._watch = self._new_watch()
        self._kept: bytes | None = None
        self._store, self._owns_store = _store(store), isinstance(store, (str, Path))
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _new_watch(self) -> TurnWatch:
        # Turns come one by one and in order: nothing waits for an earlier one, and times are checked before.
        settings = replace(self.settings, lateness=0, max_future=None)
        return TurnWatch(self.id, self.subject, Watch.of_programs(self._programs, settings, CAP))

    def _begin(self) -> None:
        known: tuple[Topic, ...] = ()
        if self._store is not None:
            _refuse_private(self._store)
            kept = self._store.load_state(NAME, self.id)
            if kept is not None:
                self._resume(json.loads(kept))
                self._kept = kept
                return
            known = recall_topics(self._store, self.subject) if self._remembers else ()
        self._talk, self._known = start(known), known

    # Turns.

    def turn(self, text: str, role: str = "user", at: datetime | float | None = None) -> ConversationState:
        """Where the conversation stands after one more turn.

        `role` is user, assistant, system or tool. `at` is when it was said, with a time zone or in seconds
        since 1970; None: not known, then nothing is forgotten by time and nothing said of pace. Turns are
        taken in the order told, whatever the times; one dated more than `settings.max_future` ahead of the
        clock is refused. Where one fails, as on a full disk, it did not happen.
        """
        said, who, when = text_of(text), role_of(role), moment_of(at)
        latest = latest_time(self._clock(), self.settings.max_future)
        if when is not None and latest is not None and when > latest:
            raise BadUsage(future_message(when, latest))
        with self._lock:
            before = self._talk
            try:
                return self._turn(said, who, when)
            except BaseException:
                self._undo(before)
                raise

    def _turn(self, text: str, who: str, when: datetime | None) -> ConversationState:
        was_refused = bool(self._talk.state.refused)
        seconds = None if when is None else when.timestamp()
        self._talk, outcome = follow(self._talk, text, who, seconds, self._meaning, self._tuning)
        values = values_of(outcome, was_refused) if who == "user" else None
        found = () if values is None else self._watch.observe(values, when)
        if self._store is not None:
            self._keep(self._store, when or self._clock())
        return state_of(self.id, self.subject, outcome, found)

    def _undo(self, before: Talk) -> None:
        if self._talk is before:
            return
        self._talk = before
        if self._store is not None:
            self._watch = self._new_watch()
            if self._kept is not None:
                self._watch.load(json.loads(self._kept)["patterns"])

    async def aturn(
        self, text: str, role: str = "user", at: datetime | float | None = None
    ) -> ConversationState:
        """As `turn`, for callers that await. Only a store is waited for; else it takes a millisecond.

        Await each before the next: of several at once each is whole, but they come in any order. One that
        is cancelled while it waits for the store still happens.
        """
        if self._store is None:
            return self.turn(text, role, at)
        return await asyncio.to_thread(self.turn, text, role, at)

    def close(self) -> None:
        """Close the store that was opened here, if any. Everything is kept already."""
        if self._owns_store and self._store is not None:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What can be asked.

    @property
    def risk(self) -> float:
        """The risk after the newest turn, 0..1."""
        return self._talk.state.risk

    @property
    def mode(self) -> Mode:
        """The mode after the newest turn."""
        return self._talk.state.mode

    @property
    def turns(self) -> int:
        """How many turns there were, of anybody."""
        return self._talk.state.turns

    # Saving.

    def save(self) -> dict[str, Any]:
        """Everything remembered, as plain JSON data, without any text; `load` goes on from there exactly."""
        with self._lock:
            head = {"format": FORMAT, "id": self.id, "subject": self.subject}
            return {**head, "talk": talk_to_json(self._talk), "patterns": self._watch.save()}

    @classmethod
    def load(cls, saved: Mapping[str, Any], **options: Any) -> Conversation:
        """A conversation that goes on where another was saved; options are those of `Conversation`."""
        _check_saved(saved)
        made = cls(saved["id"], **{"subject": saved["subject"], **options})
        made._resume(saved)
        return made

    def _resume(self, saved: Mapping[str, Any]) -> None:
        _check_saved(saved)
        if saved["subject"] != self.subject:
            raise BadUsage(
                f"the conversation {self.id!r:.80} is kept with the subject {saved['subject']!r:.80}, "
                f"not {self.subject!r:.80}; give another id"
            )
        try:
            self._talk = talk_from_json(dict(saved["talk"]))
        except ValueError as error:
            raise BadUsage(f"the conversation {self.id!r:.80}: {error}; begin a new one") from None
        self._known = self._talk.state.memory.topics
        self._watch.load(saved["patterns"])

    def _keep(self, store: Store, at: datetime) -> None:
        topics = self._talk.state.memory.topics
        if self._remembers and topics != self._known:
            keep_topics(store, self.subject, topics, at)
            self._known = topics
        # Last, since with it the turn has happened.
        kept = json.dumps(self.save()).encode()
        store.save_state(NAME, self.id, kept, at, subject=self.subject)
        self._kept = kept


def _meaning(value: Any) -> Meaning | None:
    if value is None or isinstance(value, str):
        return meaning_of({"embedder": value})
    if not hasattr(value, "embed") or not isinstance(getattr(value, "name", None), str):
        raise BadUsage(
            "embedder is small, wordllama, both, letters, None, or an object with a name and a method embed"
        )
    from ..chat.embeddings.harm_reader import Reader

    return Reader(value)


def _store(store: Store | str | Path | None) -> Store | None:
    if not isinstance(store, (str, Path)):
        return store
    from ..store import open_store

    return open_store(str(store), create=True)


def _refuse_private(store: Store) -> None:
    if store.private() is not None:
        raise BadUsage("this store keeps people under other names; conversations need one that does not")


def _check_saved(saved: Mapping[str, Any]) -> None:
    if saved.get("format") != FORMAT:
        raise BadUsage(f"a saved conversation has format {FORMAT}, not {saved.get('format')!r:.40}")
