"""Conversation: the risk of a conversation between a person and an assistant, turn by turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ...chat.conversation import Meaning, Talk, follow, held, start, talk_from_json, talk_to_json
from ...chat.memory import TOPICS, ConversationMemory, Topic
from ...chat.records import ROLES, Change, Mode, Signal, signal_named
from ...config import Settings
from ...errors import BadUsage
from ...fields import Count, Name, Ratio, Role
from ...ingest.collector import future_message, latest_time
from ...language.program import Program
from ...models import Detection, Event, micros, moment
from ...models.constants import ACTIVE_STATUSES
from ...models.record import Record, decimals
from ...signals.base import Unmeasured
from ...signals.chat import meaning_of, tuning_of, values_of
from ...store.records import TALKS, Store
from ..analyze import overlaid_patterns
from ..changes import save_found
from ..live.watch import Watch
from .confirmation import CONFIRMED, MOST_TURNS, NOT_CONFIRMED, Confirmer, Spending, confirmer_of
from .summary import Course

if TYPE_CHECKING:
    from ...evaluators.base import Evaluator


def name_of(value: object, what: str) -> str:
    """The name of a conversation or a subject; BadUsage where it is none."""
    if not isinstance(value, str) or not value.strip() or len(value) > 512:
        raise BadUsage(f"invalid {what} {value!r:.80}: expected a name of 1 to 512 characters")
    if "\0" in value:
        raise BadUsage(f"invalid {what} {value!r:.80}: expected text without null characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadUsage(f"invalid {what} {value!r:.80}: expected text without lone surrogates") from None
    return value


def role_of(value: object) -> str:
    """The role of a speaker; BadUsage where it is none."""
    role = ROLES.get(value.lower()) if isinstance(value, str) else None
    if role is None:
        raise BadUsage(f"invalid role {value!r:.40}: expected user, assistant, system or tool")
    return role


def moment_of(value: object) -> datetime | None:
    """The time of a turn in UTC; BadUsage where it is none."""
    if value is None:
        return None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise BadUsage(f"invalid at {value.isoformat()}: expected a time zone")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise BadUsage(
                f"invalid at {value!r:.80}: expected a time of the years 1 to 9999 in UTC"
            ) from None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OverflowError, OSError, ValueError):
            pass
    raise BadUsage(f"invalid at {value!r:.80}: expected a datetime with a time zone, or seconds since 1970")


def settings_of(value: object) -> Settings:
    """The settings; BadUsage where they are none."""
    if value is None or isinstance(value, Settings):
        return value or Settings()
    expected = "Settings, as in ethogram.config.load_settings(...).settings"
    raise BadUsage(f"invalid settings: expected {expected}, not {type(value).__name__}")


NAME = "conversation"  # the states of conversations in a store, by their id
MEMORY_NAME = "conversation_memory"  # risky topics across conversations, by subject
FORMAT = 1
LEAST = 0.1  # a topic of lower risk is forgotten; topics fade by a fifth with every conversation
CAP = 64  # turns that a pattern may look back on
STEP, TICK = timedelta(seconds=1), timedelta(microseconds=1)
START, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
FROM_SETTINGS: Any = object()


def recall_topics(store: Store, subject: str) -> tuple[Topic, ...]:
    """The risky topics of a subject's conversations so far."""
    saved = store.load_state(MEMORY_NAME, subject)
    return () if saved is None else msgspec.json.decode(saved, type=tuple[Topic, ...])


def save_topics(store: Store, subject: str, topics: tuple[Topic, ...], at: datetime) -> None:
    """Save a conversation's risky topics beside those of the subject's other conversations."""
    words = {word for topic in topics for word in topic.words}
    others = [topic for topic in recall_topics(store, subject) if words.isdisjoint(topic.words)]
    every = sorted((*topics, *others), key=lambda topic: (-topic.risk, topic.words))
    risky = tuple(topic for topic in every if topic.risk >= LEAST)[:TOPICS]
    data = msgspec.json.encode(risky) if risky else None
    store.save_state(MEMORY_NAME, subject, data, at, subject=subject)


@dataclass(frozen=True, slots=True)
class ConversationState(Record):
    """Where a conversation stands after a turn, and why.

    `risk` and `accumulated_risk` are 0..1; `signals` have a value, or None where they could not be measured,
    and a reason each; `detections` are those that opened, rose or closed with this turn; `raised` and
    `lowered` are what changed the risk since the turn before, the greatest first.
    """

    RECORD = "conversation_state"
    OMITTED = ("confirmation", "not_measured")
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
    confirmation: str | None = None
    """With an evaluator, from SUSPECT on: confirmed, not confirmed (so the mode is ELEVATED), or unconfirmed
    with the reason (so the mode stands)."""
    not_measured: str | None = None
    """Why nothing can be said of this turn, such as its language; its mode is that of the turns before."""

    def __str__(self) -> str:
        """Where the conversation stands, on one line."""
        stands = f"{self.mode.name} {self.risk:.2f}, {self.reason}"
        return f"{self.conversation}, turn {self.turn} ({self.role}): {stands}"

    def __repr__(self) -> str:
        return f"<ConversationState: {self}>"

    @property
    def changes(self) -> tuple[Change, ...]:
        """What raised and lowered the risk, largest first."""
        return tuple(sorted((*self.raised, *self.lowered), key=lambda item: (-abs(item.by), item.name)))

    @property
    def reason(self) -> str:
        """What adds most to the risk, in words."""
        most = max(self.signals, key=lambda signal: signal.adds, default=None)
        if most is not None and most.adds > 0:
            return most.reason
        return f"not measured: {self.not_measured}" if self.not_measured else "nothing stands out"

    def signal(self, name: str) -> Signal:
        """The signal of that name; KeyError where there is none in this turn."""
        return signal_named(name, self.signals)


_compiled: dict[str, tuple[Program, ...]] = {}
_compiling = Lock()


def programs_of(patterns: Sequence[str | Path] | None, settings: Settings) -> tuple[Program, ...]:
    """The compiled patterns: those named, or the active ones of conversations; cached."""
    names = None if patterns is None else [str(pattern) for pattern in patterns]
    key = repr((names, settings.patterns, settings.parameters, settings.status, settings.signals))
    with _compiling:
        if key not in _compiled:
            if len(_compiled) >= 8:
                del _compiled[next(iter(_compiled))]
            _compiled[key] = _programs(patterns, settings)
        return _compiled[key]


def _programs(patterns: Sequence[str | Path] | None, settings: Settings) -> tuple[Program, ...]:
    library = overlaid_patterns(settings, ["risk/*"] if patterns is None else patterns)
    if patterns is not None:
        return library.programs
    on = {name for name in library.chosen if library.files[name].status in ACTIVE_STATUSES}
    return tuple(program for program in library.programs if program.pattern in on)


class TurnWatch:
    """Watches the person's turns of one conversation; numbers them, so that none is late or a duplicate."""

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
            source=TALKS,
            timed=self._timed,
            thread=self._conversation,
            kind="turn",  # not a message: it is measured already
            attributes={"role": "user"},
            readings={name: value for name, value in values.items() if not isinstance(value, Unmeasured)},
        )
        detections = self._watch.observe(event)
        self._watch.forget_arrivals()
        return tuple(detections)

    def _moment(self, at: datetime | None) -> datetime:
        # Turns count in the order of arrival, whatever the clocks say.
        if self._last is None:
            self._last = at or START
        elif at is None:
            self._last = min(self._last, LAST - STEP) + STEP
        else:
            self._last = max(at, min(self._last, LAST - TICK) + TICK)
        return self._last

    @property
    def timed(self) -> bool:
        """Whether a turn had a time."""
        return self._timed

    def save(self) -> dict[str, Any]:
        """The state as JSON's own types."""
        last = None if self._last is None else micros(self._last)
        return {"last": last, "timed": self._timed, "number": self._number, "watch": self._watch.save()}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._last = None if saved["last"] is None else moment(saved["last"])
        self._timed, self._number = saved["timed"], saved["number"]
        self._watch.restore(saved["watch"])


class Conversation:
    """The risk of a conversation between a person and an assistant, turn by turn.

    `subject` is who speaks with the assistant; without one it is somebody of this conversation alone.
    `embedder`: static (included), onnx:FOLDER, openai:MODEL@URL, None, or an object with `name` and
    `embed`; the settings name the default. `patterns` make detections; by default those of conversations
    that are on. `store`, an open store or a file's path, saves the state after every turn; a conversation
    of that id continues where it was. `memory` remembers the subject's risky topics from one conversation to
    the next, in the store. `evaluator`, a language model by name or object, is asked about a turn that would
    reach SUSPECT; unless it confirms that the turn asks for harm the mode stays at ELEVATED. `budget` is in
    dollars, for all questions of this object. Safe for several threads. Only one object at a time should
    write to an id in a store; of two, the last one wins.

    >>> talk = Conversation("c1", subject="kim")
    >>> talk.turn("Should I bring an umbrella?").mode.name
    'SAFE'
    """

    def __init__(
        self,
        id: str,  # noqa: A002 (what a conversation's id is called everywhere)
        *,
        subject: str | None = None,
        embedder: Any = FROM_SETTINGS,
        store: Store | str | Path | None = None,
        memory: bool | None = None,
        patterns: Sequence[str | Path] | None = None,
        evaluator: Evaluator | Confirmer | str | None = None,
        budget: float | None = None,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.id, self._is_named = name_of(id, "id"), subject is not None
        self.subject = f"{self.id}/user" if subject is None else name_of(subject, "subject")
        self.settings = settings = settings_of(settings)
        options = settings.conversation
        self._meaning = _meaning(options.get("embedder", "static") if embedder is FROM_SETTINGS else embedder)
        self._tuning = tuning_of(options)
        self._confirmer = confirmer_of(evaluator, budget, settings)
        self.course = Course()  # how far it went so far
        self.spending = Spending()  # on questions to the evaluator, by this object
        self._texts: tuple[tuple[str, str], ...] = ()  # for the evaluator; never saved
        if memory and store is None:
            raise BadUsage("memory across conversations needs a store: expected store='conversations.db'")
        wanted = options.get("memory", False) if memory is None else memory
        self._remembers = store is not None and bool(wanted)
        self._clock, self._lock = clock, RLock()
        self._programs = programs_of(patterns, settings)
        self._watch = self._new_watch()
        self._saved: bytes | None = None
        self._store, self._owns_store = _store(store), isinstance(store, (str, Path))
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _new_watch(self) -> TurnWatch:
        # Turns come in order, and `turn` checks their times.
        settings = replace(self.settings, lateness=0, max_future=None)
        return TurnWatch(self.id, self.subject, Watch.of_programs(self._programs, settings, CAP))

    def _begin(self) -> None:
        known: tuple[Topic, ...] = ()
        if self._store is not None:
            if self._store.private() is not None:
                raise BadUsage(
                    "this store keeps people under other names: conversations need one that does not"
                )
            saved = self._store.load_state(NAME, self.id)
            if saved is not None:
                self._resume(json.loads(saved))
                self._saved = saved
                return
            known = recall_topics(self._store, self.subject) if self._remembers else ()
        self._talk, self._known = start(known), known

    def turn(self, text: str, role: str = "user", at: datetime | float | None = None) -> ConversationState:
        """The state of the conversation after one more turn.

        `role` is user, assistant, system or tool. `at` has a time zone or is in seconds since 1970; without
        it nothing is forgotten by time and pace is not measured. Turns count in the order of the calls,
        whatever their times; one dated more than `settings.max_future` ahead of the clock is refused. A
        turn that fails, as on a full disk, did not happen.
        """
        if not isinstance(text, str):
            raise BadUsage(f"invalid turn of type {type(text).__name__}: expected text")
        who, when = role_of(role), moment_of(at)
        latest = latest_time(self._clock(), self.settings.max_future)
        if when is not None and latest is not None and when > latest:
            raise BadUsage(future_message(when, latest))
        with self._lock:
            before = self._talk, self.course
            try:
                return self._turn(text, who, when)
            except BaseException:
                self._undo(*before)
                raise

    def _turn(self, text: str, who: str, when: datetime | None) -> ConversationState:
        was_refused, before = bool(self._talk.state.refused), self.risk
        seconds = None if when is None else when.timestamp()
        self._talk, outcome = follow(self._talk, text, who, seconds, self._meaning, self._tuning)
        confirmation, texts = None, (*self._texts, (who, text))[-MOST_TURNS:]
        if self._confirmer and who == "user" and outcome.mode >= Mode.SUSPECT and not self._talk.confirmed:
            confirmation, spent = self._confirmer.ask(texts)
            self.spending = self.spending.plus(spent)
            if confirmation == NOT_CONFIRMED:
                self._talk, outcome = held(self._talk, outcome)
            self._talk = replace(self._talk, confirmed=confirmation == CONFIRMED)
        detections: tuple[Detection, ...] = ()
        if who == "user":
            detections = self._watch.observe(values_of(outcome, was_refused), when)
        state = ConversationState(
            conversation=self.id,
            subject=self.subject,
            turn=outcome.turn,
            role=outcome.role,
            risk=outcome.risk,
            accumulated_risk=outcome.accumulated_risk,
            mode=outcome.mode,
            signals=outcome.signals,
            detections=detections,
            raised=tuple(change for change in outcome.changes if change.by > 0),
            lowered=tuple(change for change in outcome.changes if change.by < 0),
            intents=dict(outcome.intents),
            goal_directed=outcome.goal_directed,
            confirmation=confirmation,
            not_measured=outcome.not_measured,
        )
        self.course = self.course.after(state, before)
        if self._store is not None:
            if detections:
                save_found(self._store, detections, when or self._clock(), timed=self._watch.timed)
            self._save(self._store, when or self._clock())
        if self._confirmer:
            self._texts = texts
        return state

    def _undo(self, before: Talk, course: Course) -> None:
        if self._talk is before:
            return
        self._talk, self.course = before, course
        if self._store is not None:
            self._watch = self._new_watch()
            if self._saved is not None:
                self._watch.load(json.loads(self._saved)["patterns"])

    async def aturn(
        self, text: str, role: str = "user", at: datetime | float | None = None
    ) -> ConversationState:
        """As `turn`, for async callers; only a store and an evaluator are awaited.

        Await each turn before the next, or they come in any order. One that is cancelled while it waits for
        the store still happens.
        """
        if self._store is None and self._confirmer is None:
            return self.turn(text, role, at)
        return await asyncio.to_thread(self.turn, text, role, at)

    def close(self) -> None:
        """Close the store if it was opened here; everything is saved already."""
        if self._owns_store and self._store is not None:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_evaluator(self) -> bool:
        """Whether an evaluator confirms SUSPECT."""
        return self._confirmer is not None

    @property
    def risk(self) -> float:
        """The risk after the newest turn, 0..1."""
        return self._talk.state.risk

    @property
    def mode(self) -> Mode:
        """The mode after the newest turn."""
        return self._talk.state.mode

    @property
    def memory(self) -> ConversationMemory:
        """What is remembered of the turns: the newest ones, segments by topic, risky topics, counts."""
        return self._talk.state.memory

    @property
    def turns(self) -> int:
        """How many turns there were, of all roles."""
        return self._talk.state.turns

    def save(self) -> dict[str, Any]:
        """The state as plain JSON data; `load` continues from it exactly.

        No text is in it, but stems of words: of the ten newest turns, of topics, and of what was refused.
        """
        with self._lock:
            head = {"format": FORMAT, "id": self.id, "subject": self.subject}
            parts = {"talk": talk_to_json(self._talk), "patterns": self._watch.save()}
            return {**head, **parts, "course": self.course.to_dict()}

    @classmethod
    def load(cls, saved: Mapping[str, Any], **options: Any) -> Conversation:
        """A conversation that continues from a saved state; options are those of `Conversation`."""
        _check_saved(saved)
        conversation = cls(saved["id"], **{"subject": saved["subject"], **options})
        conversation._resume(saved)
        return conversation

    def _resume(self, saved: Mapping[str, Any]) -> None:
        _check_saved(saved)
        if saved["subject"] != self.subject and not self._is_named:
            self.subject = saved["subject"]
            self._watch = self._new_watch()
        if saved["subject"] != self.subject:
            raise BadUsage(
                f"the conversation {self.id!r:.80} is saved with the subject {saved['subject']!r:.80}, "
                f"not {self.subject!r:.80}: expected another id"
            )
        try:
            self._talk = talk_from_json(dict(saved["talk"]))
        except ValueError as error:
            raise BadUsage(f"the conversation {self.id!r:.80}: {error}: begin a new one") from None
        self._known = self._talk.state.memory.topics
        self.course = Course.load(saved.get("course", {}))
        self._watch.load(saved["patterns"])

    def _save(self, store: Store, at: datetime) -> None:
        topics = self._talk.state.memory.topics
        if self._remembers and topics != self._known:
            save_topics(store, self.subject, topics, at)
            self._known = topics
        # Last, since the turn has happened once this is written.
        saved = json.dumps(self.save()).encode()
        store.save_state(NAME, self.id, saved, at, subject=self.subject)
        self._saved = saved


def _meaning(value: Any) -> Meaning | None:
    if value is None or isinstance(value, str):
        return meaning_of({"embedder": value})
    if not hasattr(value, "embed") or not isinstance(getattr(value, "name", None), str):
        raise BadUsage("invalid embedder: expected a name, None, or an object with a name and a method embed")
    from ...chat.embeddings.harm_reader import Reader

    return Reader(value)


def _store(store: Store | str | Path | None) -> Store | None:
    if not isinstance(store, (str, Path)):
        return store
    from ...store import open_store

    return open_store(str(store), create=True)


def _check_saved(saved: Mapping[str, Any]) -> None:
    if saved.get("format") != FORMAT:
        raise BadUsage(f"a saved conversation of format {saved.get('format')!r:.40}: expected {FORMAT}")
