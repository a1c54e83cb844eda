"""Conversations that pass by: which one a list of messages continues, and where it stands.

Programs send the whole history with every request. The longest beginning of it that is known is where a
conversation goes on. What follows a beginning that has gone on otherwise, as after an edited turn, is a
branch: a conversation of its own.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ..app.chat.conversation import name_of, role_of
from ..chat.conversation import Talk, follow, start
from ..chat.records import Mode, Outcome
from ..config import Settings
from ..errors import BadUsage
from ..models.limits import Limits
from ..models.slotted import dataclass
from ..signals.chat import meaning_of, tuning_of, values_of
from ..store.records import TALKS, Store
from .chat_states import Chat, ChatSaver, ChatTurn, Saved
from .messages import ChatIdentity, Turn, chained, turn_of, turns_of
from .turn_log import Emit, TurnLog, event_lines

MOST_CHATS = 2_000
"""Conversations in memory; others are read from the store, or followed again from their messages."""
LONGEST_ID = 480
"""Characters of a conversation's id: ids of its turns and names of its speakers are longer."""
MOST_NODES = 256
"""Messages of a conversation that a branch can leave from without following it again."""
TALKS_AT_HAND = 6
"""Newest messages of a conversation whose state is in memory."""
MOST_AGAIN = 200
"""Messages that are followed at once, the newest of a longer history."""
LOOK_BACK = 6
"""Beginnings, the longest first, that are looked up in a store."""
INLINE = 2_000
"""Characters that are scored at once; more is left to a thread, so that others need not wait."""
REASONS = 3


@dataclass(slots=True)
class Node:
    """A beginning of a conversation, up to one message."""

    chat: Chat
    standing: ChatTurn
    talk: Talk | None


class Place(NamedTuple):
    """Where a list of messages leaves off: the key and conversation of its last message."""

    key: bytes
    chat: Chat
    standing: ChatTurn | None
    """None where nothing was said yet."""


class Step(NamedTuple):
    """A turn that was followed."""

    turn: Turn
    key: bytes
    talk: Talk
    outcome: Outcome
    values: Mapping[str, Any]


class Chats:
    """All conversations of a process. Use it from one event loop; scoring itself may run in threads.

    `emit` gets every new turn as an event line. With a store the states are saved soon after each turn.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store | None = None,
        emit: Emit | None = None,
        clock: Callable[[], datetime],
        most: int = MOST_CHATS,
    ) -> None:
        if store is not None and store.private() is not None:
            raise BadUsage("this store keeps people under other names: conversations need one that does not")
        options = settings.conversation
        self._meaning, self._tuning = meaning_of(options), tuning_of(options)
        self._is_near = options.get("embedder", "static") in ("static", None)
        self._longest = Limits(**settings.limits).text
        self._saver = None if store is None else ChatSaver(store, clock)
        self._emit, self._clock, self._most = emit, clock, most
        self._nodes: dict[bytes, Node] = {}
        self._chats: OrderedDict[str, Chat] = OrderedDict()
        self._locks: dict[tuple[str | None, str], tuple[asyncio.Lock, list[None]]] = {}
        self._log = None if emit is None else TurnLog(emit)

    def __len__(self) -> int:
        return len(self._chats)

    def warm(self) -> None:
        """Load what scores a turn, so that the first one need not wait for it."""
        follow(start(), "Hello.", "user", None, self._meaning, self._tuning)

    async def follow(
        self,
        messages: Iterable[Any],
        *,
        name: str | None = None,
        fallback: str | None = None,
        subject: str | None = None,
        source: str = TALKS,
        owner: str | None = None,
        at: datetime | None = None,
    ) -> Place | None:
        """Where the conversation of these messages stands; None where they hold no turn.

        `name` is the conversation's id; without it the longest known beginning decides, and a new one is
        called `fallback`. What is known already does not count again. The same name or messages of another
        subject, source or owner (the name of an API key) are another conversation.
        """
        identity = ChatIdentity(owner, source, _named(subject, "subject"), _id_of(name))
        turns, root = turns_of(messages), identity.root()
        if not turns:
            return None
        keys, known = await self._longest_known(identity, turns)
        if known == len(keys):
            node = self._nodes[keys[-1]]
            self._touch(node.chat)
            return Place(keys[-1], node.chat, node.standing)
        new = turns[known:]
        if known:
            before = self._nodes[keys[known - 1]]
            chat, talk, parent = before.chat, before.talk, keys[known - 1]
            if talk is None:
                talk = await self._again(turns[:known])
        else:
            if identity.name is None:
                if (called := _id_of(fallback)) is not None:
                    await self._load(called)  # then it is taken
                chat = self._new_chat(called, root, identity)
            else:
                chat = await self._by_id(identity)
            if chat.turns:
                return await self._go_on(chat, turns, at)
            talk, parent, new = start(), root, new[-MOST_AGAIN:]
        steps = await self._steps(talk, new, keys[-len(new) :], at)
        return self._commit(chat, parent, steps, at)

    async def answer(self, place: Place, text: str, calls: Any = None, at: datetime | None = None) -> Place:
        """Where the conversation stands after the assistant's answer."""
        turn = turn_of("assistant", text, calls)
        [key] = chained(place.key, [turn])
        if (node := self._nodes.get(key)) is not None:
            return Place(key, node.chat, node.standing)
        before = self._nodes.get(place.key)
        if before is None or before.talk is None:
            return place  # forgotten meanwhile; the next request brings it along
        steps = await self._steps(before.talk, [turn], [key], at)
        return self._commit(before.chat, place.key, steps, at)

    async def append(
        self,
        name: str,
        role: str,
        text: str,
        *,
        subject: str | None = None,
        owner: str | None = None,
        at: datetime | None = None,
    ) -> ChatTurn:
        """Where a conversation stands after one more turn, which is in the store once this returns.

        Without a subject it is the conversation that this owner began under the name, whoever its subject is.
        """
        name, who, subject = name_of(name, "conversation"), role_of(role), _named(subject, "subject")
        identity = ChatIdentity(owner, TALKS, subject, _id_of(name))
        lock, users = self._locks.setdefault((owner, name), (asyncio.Lock(), []))
        users.append(None)
        try:
            async with lock:
                chat = await self._by_id(identity, any_subject=subject is None)
                talk = self._talk_of(chat)
                turn = turn_of(who, text)
                steps = await self._steps(talk, [turn], chained(chat.head, [turn]), at)
                lines = self._lines(chat, steps, at)
                if self._emit is not None and lines:
                    await asyncio.wrap_future(await asyncio.to_thread(self._emit, lines))
                place = self._commit(chat, chat.head, steps, at, emit=False)
                if self._saver is not None:
                    await asyncio.to_thread(self._saver.flush, chat.id)
        finally:
            users.pop()
            if not users:
                self._locks.pop((owner, name), None)
        assert place.standing is not None
        return place.standing

    def forget(self, subject: str) -> int:
        """Drop a subject's conversations from memory; returns how many."""
        gone = [chat for chat in list(self._chats.values()) if chat.subject == subject]
        for chat in gone:
            if self._saver is not None:
                self._saver.take(chat.id)
            self._drop(chat)
        if self._log is not None:
            self._log.forget({chat.id for chat in gone})
        return len(gone)

    def close(self) -> None:
        """Write and save what waits."""
        if self._log is not None:
            self._log.close()
        if self._saver is not None:
            self._saver.close()

    # Which conversation.

    async def _longest_known(self, identity: ChatIdentity, turns: Sequence[Turn]) -> tuple[list[bytes], int]:
        """The keys of the messages, and how many of them, from the first, are known."""
        keys = chained(identity.root(), turns)
        if (known := self._known_here(keys, identity)) or self._saver is None:
            return keys, known
        # Conversations that were saved before they had an owner are hashed otherwise.
        earlier = chained(identity.earlier_root(), turns)
        if known := self._known_here(earlier, identity):
            return earlier, known
        for some in (keys, earlier):
            if known := await self._known_in_store(self._saver, some, identity):
                return some, known
        return keys, 0

    def _known_here(self, keys: Sequence[bytes], identity: ChatIdentity) -> int:
        for count in range(len(keys), 0, -1):
            node = self._nodes.get(keys[count - 1])
            if node is not None and _claim(node.chat, identity):
                return count
        return 0

    async def _known_in_store(self, saver: ChatSaver, keys: Sequence[bytes], identity: ChatIdentity) -> int:
        for count in range(len(keys), max(0, len(keys) - LOOK_BACK), -1):
            name = await asyncio.to_thread(saver.name_at, keys[count - 1])
            if name is not None and await self._load(name) is not None:
                node = self._nodes.get(keys[count - 1])
                if node is not None and _claim(node.chat, identity):
                    return count
        return 0

    async def _by_id(self, identity: ChatIdentity, *, any_subject: bool = False) -> Chat:
        """The named conversation, which may be new; `any_subject`: whoever its subject is."""
        for name in identity.ids():
            chat = self._chats.get(name) or await self._load(name) or self._chats.get(name)
            if chat is None:
                return self._new_chat(name, identity.root(), identity)
            if _claim(chat, identity, any_subject=any_subject):
                self._touch(chat)
                return chat
        return self._new_chat(None, identity.root(), identity)

    async def _load(self, name: str) -> Chat | None:
        """The conversation of an id as the store has it; None where it has none."""
        if self._saver is None:
            return None
        saved = await asyncio.to_thread(self._saver.load, name)
        if saved is None or name in self._chats:
            return self._chats.get(name)
        self._chats[name] = saved.chat
        self._nodes[saved.head] = Node(saved.chat, saved.standing, saved.talk)
        return saved.chat

    def _chat_at(self, chat: Chat, key: bytes) -> Chat:
        """The conversation that goes on from this key: this one, or a branch where it went on already."""
        if chat.head == key:
            self._touch(chat)
            return chat
        while True:
            chat.branches += 1
            if (name := f"{chat.id}~{chat.branches + 1}") not in self._chats:
                break
        label = f"{chat.label}~{chat.branches + 1}" if chat.label else None
        identity = ChatIdentity(chat.owner, chat.source, _told_subject(chat), label)
        branch = self._new_chat(name, chat.root, identity)
        if (node := self._nodes.get(key)) is not None:
            branch.turns = node.standing.turn
        return branch

    def _new_chat(self, name: str | None, root: bytes, identity: ChatIdentity) -> Chat:
        if name is None or name in self._chats:
            name = uuid.uuid4().hex
        chat = Chat(name, identity.subject or f"{name}/user", root, root, source=identity.source)
        chat.owner, chat.label = identity.owner, identity.name or ""
        self._chats[name] = chat
        while len(self._chats) > self._most:
            self._drop(next(iter(self._chats.values())))
        return chat

    def _touch(self, chat: Chat) -> None:
        if chat.id in self._chats:
            self._chats.move_to_end(chat.id)

    def _drop(self, chat: Chat) -> None:
        self._chats.pop(chat.id, None)
        for key in chat.keys:
            self._nodes.pop(key, None)

    async def _go_on(self, chat: Chat, turns: Sequence[Turn], at: datetime | None) -> Place:
        """Go on with a named conversation whose older messages were left out, or all but the newest."""
        known, given = list(chat.tail), [turn.digest for turn in turns]
        most = min(len(known), len(given))
        overlap = next((n for n in range(most, 0, -1) if known[-n:] == given[:n]), 0)
        new = list(turns[overlap:][-MOST_AGAIN:])
        if not new:
            return Place(chat.head, chat, self._nodes[chat.head].standing)
        talk, head = self._talk_of(chat), chat.head
        return self._commit(chat, head, await self._steps(talk, new, chained(head, new), at), at)

    # What was said.

    def _lines(self, chat: Chat, steps: Sequence[Step], at: datetime | None) -> list[dict[str, Any]]:
        turns = [(step.turn, step.values) for step in steps]
        return event_lines(chat, turns, at or self._clock(), self._longest)

    def _talk_of(self, chat: Chat) -> Talk:
        node = self._nodes.get(chat.head)
        return start() if node is None or node.talk is None else node.talk

    async def _again(self, turns: Sequence[Turn]) -> Talk:
        steps = await self._steps(start(), turns[-MOST_AGAIN:], [b""] * min(len(turns), MOST_AGAIN), None)
        return steps[-1].talk

    async def _steps(
        self, talk: Talk, turns: Sequence[Turn], keys: Sequence[bytes], at: datetime | None
    ) -> list[Step]:
        """Follow turns; only the newest happened now."""
        now = (at or self._clock()).timestamp()

        def steps() -> list[Step]:
            followed, state = [], talk
            for number, (turn, key) in enumerate(zip(turns, keys, strict=True), 1):
                was_refused = bool(state.state.refused)
                when = now if number == len(turns) else None
                text = turn.text[: self._longest]
                state, outcome = follow(state, text, turn.role, when, self._meaning, self._tuning)
                values = values_of(outcome, was_refused) if turn.role == "user" else {}
                followed.append(Step(turn, key, state, outcome, values))
            return followed

        if self._is_near and sum(len(turn.text) for turn in turns) <= INLINE:
            return steps()
        return await asyncio.to_thread(steps)

    def _commit(
        self, chat: Chat, parent: bytes, steps: Sequence[Step], at: datetime | None, *, emit: bool = True
    ) -> Place:
        """Note turns that follow the parent's; some may have become known while they were scored."""
        last = steps[-1]
        if (node := self._nodes.get(last.key)) is not None:
            if not chat.turns:
                self._drop(chat)
            return Place(last.key, node.chat, node.standing)
        while steps[0].key in self._nodes:
            parent, steps = steps[0].key, steps[1:]
            chat = self._nodes[parent].chat
        chat = self._chat_at(chat, parent)
        self._chats.setdefault(chat.id, chat)  # it may have been dropped meanwhile
        if emit and self._log is not None and (lines := self._lines(chat, steps, at)):
            self._log.put(lines)
        for step in steps:
            chat.turns += 1
            self._nodes[step.key] = Node(chat, _standing(chat, step), step.talk)
            chat.keys.append(step.key)
            chat.tail.append(step.turn.digest)
            chat.head = step.key
        while len(chat.keys) > MOST_NODES:
            self._nodes.pop(chat.keys.popleft(), None)
        for place in range(len(steps) + 1):
            if len(chat.keys) > TALKS_AT_HAND + place:
                old = self._nodes.get(chat.keys[-1 - TALKS_AT_HAND - place])
                if old is not None:
                    old.talk = None
        standing = self._nodes[last.key].standing
        if self._saver is not None:
            self._saver.put(Saved(chat, chat.head, standing, last.talk, tuple(chat.tail)))
        return Place(last.key, chat, standing)


def _named(value: str | None, what: str) -> str | None:
    return None if value is None or not value.strip() else name_of(value.strip(), what)


def _id_of(value: str | None) -> str | None:
    """The id of a conversation, short enough for the names that are made of it."""
    if (name := _named(value, "conversation id")) is not None and len(name) > LONGEST_ID:
        raise BadUsage(f"invalid conversation id {name!r:.80}: expected at most {LONGEST_ID} characters")
    return name


def _told_subject(chat: Chat) -> str | None:
    return None if chat.subject == f"{chat.id}/user" else chat.subject


def _claim(chat: Chat, identity: ChatIdentity, *, any_subject: bool = False) -> bool:
    """Whether a conversation is the one of an identity; one without an owner has it from then on."""
    if not (chat.source == identity.source and (chat.is_unclaimed or chat.owner == identity.owner)):
        return False
    if not any_subject and _told_subject(chat) != identity.subject:
        return False
    chat.owner, chat.is_unclaimed = identity.owner, False
    return True


def _standing(chat: Chat, step: Step) -> ChatTurn:
    outcome = step.outcome
    strongest = sorted(
        (signal for signal in outcome.signals if signal.adds > 0), key=lambda signal: -signal.adds
    )
    reasons = tuple(f"{signal.name}: {signal.reason}" for signal in strongest[:REASONS])
    name, mode = chat.label or chat.id, Mode(outcome.mode).name
    return ChatTurn(name, chat.turns, step.turn.role, round(outcome.risk, 6), mode, reasons)
