"""What is remembered of a subject across conversations: the words of topics that were risky, and no text.

It is kept only where somebody asks for it, in the store, and fades by a fifth with every new conversation.
"""

from __future__ import annotations

import json
from datetime import datetime

from ..climb.codec import from_plain, to_plain
from ..climb.memory import TOPICS, Topic
from ..stores.protocol import Store

NAME = "conversation_memory"
LEAST = 0.1
"""A topic that has faded below this is forgotten."""


def recall_topics(store: Store, subject: str) -> tuple[Topic, ...]:
    """The risky topics of a subject's conversations so far."""
    kept = store.load_state(NAME, subject)
    return () if kept is None else from_plain(tuple[Topic, ...], json.loads(kept))


def keep_topics(store: Store, subject: str, topics: tuple[Topic, ...], at: datetime) -> None:
    """Keep a conversation's risky topics beside what others of the subject left."""
    others = [
        one for one in recall_topics(store, subject) if not any(set(one.words) & set(t.words) for t in topics)
    ]
    every = sorted((*topics, *others), key=lambda one: (-one.risk, one.words))
    kept = tuple(one for one in every if one.risk >= LEAST)[:TOPICS]
    store.save_state(
        NAME, subject, json.dumps(to_plain(kept)).encode() if kept else None, at, subject=subject
    )
