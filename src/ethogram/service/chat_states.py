"""Conversations in a store: saved a little behind their turns, and read where one goes on."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, NamedTuple

import msgspec

from ..chat.conversation import Talk, talk_from_json, talk_to_json
from ..chat.records import MODES
from ..fields import Count, Name, Ratio, RecordStruct, Role, one_of
from ..models.slotted import dataclass, field
from ..store.records import TALKS, Store
from .health import Outage

CHAT, HEAD = "chat", "chat_head"
"""States in a store: a conversation by its id; the id by the hash of all its messages."""
TAIL = 64
"""Newest messages of a named conversation that a shortened history is compared with."""
SAVE_EVERY = 0.2
"""Seconds in which turns are saved together."""


class ChatTurn(RecordStruct):
    """Where a conversation stands after a turn, and why."""

    RECORD = "chat_turn"

    conversation: Name
    turn: Count
    """Of both sides, from 1."""
    role: Role
    risk: Ratio
    mode: Annotated[str, one_of(*MODES)]
    reasons: tuple[str, ...]
    """What adds most to the risk, the most first."""


@dataclass(slots=True)
class Chat:
    """A conversation or a branch of one."""

    id: str
    subject: str
    root: bytes
    """What its first message is hashed with."""
    head: bytes
    turns: int = 0
    keys: deque[bytes] = field(default_factory=deque)
    tail: deque[bytes] = field(default_factory=lambda: deque(maxlen=TAIL))
    source: str = TALKS
    owner: str | None = None
    """The name of the API key that told it; None without keys."""
    is_unclaimed: bool = False
    """Whether a version that knew no owners saved it: whoever else fits goes on with it."""
    label: str = ""
    """What its program calls it, where its id in the store had to be another."""
    branches: int = 0
    saved_head: bytes | None = None
    saved_turns: int = 0


class Saved(NamedTuple):
    """A conversation as it is saved."""

    chat: Chat
    head: bytes
    standing: ChatTurn
    talk: Talk
    tail: tuple[bytes, ...]


class ChatSaver:
    """Saves conversations in a thread of its own."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store, self._clock = store, clock
        self._waiting: dict[str, Saved] = {}
        self._changed = threading.Condition()
        self._saving = threading.Lock()
        self._closing = False
        self._stopped = threading.Event()
        self._outage = Outage("saving conversations")
        self._thread = threading.Thread(target=self._run, name="chats", daemon=True)
        self._thread.start()

    def put(self, saved: Saved) -> None:
        """Save a conversation soon; only its newest state counts."""
        with self._changed:
            self._waiting[saved.chat.id] = saved
            self._changed.notify()

    def flush(self, name: str) -> None:
        """Save a conversation now."""
        if (saved := self.take(name)) is not None:
            self._save(saved)

    def take(self, name: str) -> Saved | None:
        """Take a conversation out of those that wait."""
        with self._changed:
            return self._waiting.pop(name, None)

    def close(self) -> None:
        """Save what waits."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._stopped.set()
        self._thread.join()

    def name_at(self, head: bytes) -> str | None:
        """The id of the conversation whose newest message has this key."""
        data = self._store.load_state(HEAD, head.hex())
        return None if data is None else str(json.loads(data))

    def load(self, name: str) -> Saved | None:
        """A conversation as it was saved; None where it was not, or by another version."""
        data = self._store.load_state(CHAT, name)
        if data is None:
            return None
        fields = json.loads(data)
        try:
            talk = talk_from_json(fields["talk"])
        except ValueError:
            return None
        root, head = bytes.fromhex(fields["root"]), bytes.fromhex(fields["head"])
        standing = msgspec.convert(fields["standing"], ChatTurn)
        chat = Chat(name, fields["subject"], root, head, standing.turn)
        chat.source, chat.branches = fields["source"], fields["branches"]
        chat.owner, chat.is_unclaimed = fields.get("owner"), "owner" not in fields
        chat.label = fields.get("label", "")
        chat.tail.extend(map(bytes.fromhex, fields["tail"]))
        chat.keys.append(head)
        chat.saved_head, chat.saved_turns = head, standing.turn
        return Saved(chat, head, standing, talk, tuple(chat.tail))

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
            # Not woken by the next turn: what comes within this time is saved together.
            self._stopped.wait(SAVE_EVERY)
            with self._changed:
                waiting, self._waiting = list(self._waiting.values()), {}
                if self._closing and not waiting:
                    return
            for saved in waiting:
                try:
                    self._save(saved)
                except Exception as error:
                    self._outage.failed(error)
                else:
                    self._outage.ended()

    def _save(self, saved: Saved) -> None:
        store, chat, now = self._store, saved.chat, self._clock()
        data = {
            "subject": chat.subject,
            "source": chat.source,
            "owner": chat.owner,
            "label": chat.label,
            "root": chat.root.hex(),
            "head": saved.head.hex(),
            "branches": chat.branches,
            "tail": [digest.hex() for digest in saved.tail],
            "standing": msgspec.to_builtins(saved.standing),
            "talk": talk_to_json(saved.talk),
        }
        with self._saving:
            if saved.standing.turn < chat.saved_turns:
                return  # a newer state was saved meanwhile
            store.save_state(CHAT, chat.id, json.dumps(data).encode(), now, subject=chat.subject)
            store.save_state(HEAD, saved.head.hex(), json.dumps(chat.id).encode(), now)
            if chat.saved_head is not None and chat.saved_head != saved.head:
                store.save_state(HEAD, chat.saved_head.hex(), None, now)
            chat.saved_head, chat.saved_turns = saved.head, saved.standing.turn
