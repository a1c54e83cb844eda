"""Conversation: the risk of a conversation between a person and an assistant, turn by turn, live."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Self

from ..climb.memory import Topic
from ..climb.records import Mode
from ..climb.talk import Meaning, Talk, follow, start, talk_from_json, talk_to_json
from ..config import Settings
from ..errors import BadUsage
from ..ingest.future import future_message, latest_time
from ..signals.turns.follow import meaning_of, tuning_of
from ..signals.turns.values import values_of
from ..stores.protocol import Store
from .conversation_input import moment_of, name_of, role_of, text_of
from .conversation_memory import keep_topics, recall_topics
from .conversation_state import ConversationState, state_of
from .conversation_watch import CAP, TurnWatch, programs_of
from .live import Watch

FORMAT = 1
NAME = "conversation"
"""Under which the states of conversations are kept in a store, each by its id."""
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

    def _turn(self, said: str, who: str, when: datetime | None) -> ConversationState:
        was_refused = bool(self._talk.state.refused)
        seconds = None if when is None else when.timestamp()
        self._talk, outcome = follow(self._talk, said, who, seconds, self._meaning, self._tuning)
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


def _meaning(given: Any) -> Meaning | None:
    if given is None or isinstance(given, str):
        return meaning_of({"embedder": given})
    if not hasattr(given, "embed") or not isinstance(getattr(given, "name", None), str):
        raise BadUsage(
            "embedder is small, wordllama, both, letters, None, or an object with a name and a method embed"
        )
    from ..meaning.reader import Reader

    return Reader(given)


def _store(given: Store | str | Path | None) -> Store | None:
    if not isinstance(given, (str, Path)):
        return given
    from ..stores.opening import open_store

    return open_store(str(given), create=True)


def _refuse_private(store: Store) -> None:
    if store.private() is not None:
        raise BadUsage("this store keeps people under other names; conversations need one that does not")


def _check_saved(saved: Mapping[str, Any]) -> None:
    if saved.get("format") != FORMAT:
        raise BadUsage(f"a saved conversation has format {FORMAT}, not {saved.get('format')!r:.40}")
