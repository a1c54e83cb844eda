"""recorded: replays the answers of an earlier run from a file, at no cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadEvents, BadUsage, Fault, did_you_mean
from ..models.slotted import replace
from .base import Answer, Evaluation, Evaluator, NotMeasured, Options, Question, Usage, evaluator
from .response_cache import evaluation_of

LONGEST_LINE = 1_000_000
Key = tuple[str, str, str]  # source, id and text digest


@evaluator("recorded")
class Recorded(Evaluator):
    """The answers of an earlier run, as `ethogram evaluate --record FILE` writes them; costs nothing.

    They are found by source, id and text. All must be by one scorer, whose name the readings carry.
    """

    name = "recorded"
    needs = "a file of answers: --option file=FILE"

    def __init__(self, options: Options) -> None:
        for name in options:
            if name != "file":
                raise BadUsage(f"recorded: unknown option {name!r:.40}{did_you_mean(name, ['file'])}")
        if not isinstance(options.get("file"), (str, Path)):
            raise BadUsage("recorded needs the file of answers: --option file=answers.jsonl")
        path = Path(options["file"])
        self._answers: dict[Key, Evaluation] = {}
        scorers: dict[str, int] = {}
        for line, key, answer in _read(path):
            scorers.setdefault(answer.scorer, line)
            self._answers[key] = replace(answer, cost=0.0, usage=Usage())
        if len(scorers) > 1:
            why = "answers of several scorers: expected one, also {!r:.80}"
            raise BadEvents([Fault(str(path), n, 0, why.format(by)) for by, n in scorers.items()])
        if not scorers:
            raise BadUsage(f"recorded: {str(path)!r:.200} holds no answers: write them with --record")
        self.scorer = next(iter(scorers))

    def evaluate(self, question: Question) -> Answer:
        answer = self._answers.get((question.source, question.id, text_digest(question.text)))
        return NotMeasured("no recorded answer", final=True) if answer is None else answer


def text_digest(text: str) -> str:
    """Digest of a text: offsets of quotes are valid in that text only."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _read(path: Path) -> Iterator[tuple[int, Key, Evaluation]]:
    """The answers of a file with their lines; records of other kinds are skipped."""
    faults = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
                try:
                    record = json.loads(line) if len(line) <= LONGEST_LINE else None
                except (ValueError, RecursionError):
                    record = None
                if isinstance(record, Mapping) and record.get("record") != "evaluation":
                    continue
                try:
                    yield number, _key(record), evaluation_of(record)
                except ValueError as error:
                    faults.append(Fault(str(path), number, 0, str(error)))
    except OSError as error:
        raise BadUsage(f"recorded: {path}: {error.strerror or error}") from None
    if faults:
        raise BadEvents(faults)


def _key(record: Any) -> Key:
    if not isinstance(record, Mapping):
        raise ValueError(f"no JSON object of at most {LONGEST_LINE:,} bytes")
    for name in ("source", "id", "text_digest"):
        if not isinstance(record.get(name), str):
            raise ValueError(f"a recorded answer needs {name}, a text")
    return record["source"], record["id"], record["text_digest"]
