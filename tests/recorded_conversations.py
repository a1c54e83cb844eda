"""Conversations followed by the pure core, for tests."""

from __future__ import annotations

from conversation_stories import Story
from ethogram.chat.conversation import Talk, follow, start
from ethogram.chat.embeddings.harm_reader import reader_of
from ethogram.chat.records import Mode, Outcome
from ethogram.chat.state import State


class Told:
    """A conversation with the embedder of that name, or with none."""

    def __init__(self, embedder: str | None = None) -> None:
        self.talk: Talk = start()
        self._reader = None if embedder is None else reader_of(embedder)

    def turn(self, text: str, role: str = "user", at: float | None = None) -> Outcome:
        self.talk, outcome = follow(self.talk, text, role, at, self._reader)
        return outcome

    @property
    def state(self) -> State:
        return self.talk.state


def run(story: Story, embedder: str | None = None) -> list[Outcome]:
    """The outcome of each turn."""
    record = Told(embedder)
    return [record.turn(text, role) for role, text in story]


def highest(outcomes: list[Outcome]) -> Mode:
    return max((outcome.mode for outcome in outcomes), default=Mode.SAFE)


def after(*said: tuple[str, str], embedder: str | None = None) -> Told:
    """A conversation after these turns, given as role and text."""
    record = Told(embedder)
    for role, text in said:
        record.turn(text, role)
    return record
