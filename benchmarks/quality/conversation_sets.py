"""Conversations of data sets: who said what, what a set is, and which part may be tuned on.

Only figures are made from them; no text of a set is written anywhere.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmarks.quality.runs import set_files, set_name
from ethogram.chat.records import ROLES
from ethogram.errors import BadEvents, BadUsage, Fault
from ethogram.ingest.values import text_of

HALVES = ("tune", "other", "report", "all")
ATTACK, HARMLESS, TEMPTING, LABELLED = "attack", "harmless", "tempting", "labelled"
KINDS: Mapping[str, str] = {
    "hh_harmless_test": ATTACK,
    "mtbench101": HARMLESS,
    "mtbench": HARMLESS,
    "sgd_test": HARMLESS,
    "casino": HARMLESS,
    "persuasion4good": HARMLESS,
    "darkbench": TEMPTING,
}
"""What the sets are that are known: people who probe an assistant (weakly labelled, some of it harmless),
harmless talk, and single prompts that tempt a model, which are neither."""
BUDGET = ("mtbench101", "sgd_test", "casino")
"""Harmless sets that the most false alarms are stated for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """`of_user`: by somebody whose conduct is watched, which is everybody but an assistant."""

    text: str
    of_user: bool
    labels: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation. `label` is None where the set has none."""

    id: str
    label: int | None
    turns: tuple[Turn, ...]

    @property
    def said(self) -> list[str]:
        """What the watched people said."""
        return [turn.text for turn in self.turns if turn.of_user]


@dataclass(frozen=True, slots=True)
class TalkSet:
    """A set of conversations of one kind."""

    name: str
    kind: str
    talks: Sequence[Talk]


def half_of(conversation: str) -> str:
    """Which part a conversation belongs to, by its id, so it is the same in every run.

    `tune`, a half, is what the reading of meaning was chosen on; `other`, a quarter, what the signals of form
    were, with a half of `tune`; `report` is the quarter that neither was chosen on.

    >>> half_of("c1"), half_of("c4"), half_of("c6")
    ('tune', 'other', 'report')
    """
    if crc32(conversation.encode()) % 2:
        return "tune"
    return "other" if sha256(conversation.encode()).digest()[0] % 2 == 0 else "report"


def read_talks(file: Path, half: str = "all") -> list[Talk]:
    """The conversations of a file; BadEvents with every line that is none."""
    if half not in HALVES:
        raise BadUsage(f"half must be one of {', '.join(HALVES)}; here is {half!r:.40}")
    found, faults = [], []
    for number, line in _lines(file):
        try:
            talk = _talk(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            said = 'no conversation: {"conversation_id", "label", "turns": [{"role", "text"}]} is one'
            faults.append(Fault(file.name, number, 0, said))
            continue
        if half in ("all", half_of(talk.id)) and talk.turns:
            found.append(talk)
    if faults:
        raise BadEvents(faults)
    return found


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line


def _talk(row: Mapping[str, Any]) -> Talk:
    said = row["turns"] if "turns" in row else row["messages"]
    turns = tuple(Turn(_text(turn), _role(turn) != "assistant", turn.get("labels") or {}) for turn in said)
    label = row.get("label")
    told = row["conversation_id"] if "conversation_id" in row else row["id"]
    return Talk(str(told), int(label) if label in (0, 1) else None, turns)


def _text(turn: Mapping[str, Any]) -> str:
    return text_of(turn["text"] if turn.get("text") is not None else turn.get("content")) or ""


def _role(turn: Mapping[str, Any]) -> str:
    """`assistant`, or whoever else speaks; a speaker with the name of a role has it."""
    told = str(turn.get("role") or turn.get("speaker") or "user").lower()
    return ROLES.get(told, "user")


def chosen_sets(
    data_dir: str | Path,
    sets: Sequence[str] = (),
    *,
    attacks: Collection[str] = (),
    harmless: Collection[str] = (),
    known: Collection[str] = (*KINDS,),
) -> list[tuple[Path, str]]:
    """Files with what each set is; without names, those that are known, or all where none is. `attacks` and
    `harmless` say of sets what they are; one of which nobody says is `labelled`: its labels tell 1 from 0."""
    asked = {*sets, *attacks, *harmless}
    files = set_files(data_dir, asked)
    chosen = [file for file in files if asked or set_name(file) in known] or files
    if not chosen:
        raise BadUsage(f"{data_dir} has no sets: NAME.jsonl or NAME.jsonl.gz, a conversation a line")
    told = {**KINDS, **dict.fromkeys(harmless, HARMLESS), **dict.fromkeys(attacks, ATTACK)}
    return [(file, told.get(set_name(file), LABELLED)) for file in chosen]


def read_sets(files: Sequence[tuple[Path, str]], half: str, most: int | None = None) -> Iterator[TalkSet]:
    """The sets; one with labels of both kinds becomes two, `name: 1` and `name: 0`.

    `most` takes the first so many of each. BadUsage where a set has neither labels nor a kind.
    """
    for file, kind in files:
        name, talks = set_name(file), read_talks(file, half)
        if kind != LABELLED:
            yield TalkSet(name, kind, talks[:most])
            continue
        parts = [(1, ATTACK), (0, HARMLESS)]
        labelled = [
            (kind, [conversation for conversation in talks if conversation.label == label])
            for label, kind in parts
        ]
        if not any(some for _, some in labelled):
            raise BadUsage(f"{name} has no labels: say what it is with --attacks {name} or --harmless {name}")
        for (label, _), (kind, some) in zip(parts, labelled, strict=True):
            if some:
                yield TalkSet(f"{name}: {label}", kind, some[:most])
