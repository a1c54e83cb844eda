"""recorded: replays answers that were written to a file, so that a run costs nothing and needs nobody."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import BadEvents, BadUsage, Fault, did_you_mean
from .base import Answer, Evaluation, Evaluator, NotMeasured, Options, Question, Usage, evaluator
from .response_cache import evaluation_of, fault_of

LONGEST_LINE = 1_000_000


@evaluator("recorded")
class Recorded(Evaluator):
    """The answers of an earlier run, as `ethogram evaluate --record FILE` writes them; costs nothing.

    They are found by source, id and text. All must be by one scorer, whose name the readings carry.
    """

    name = "recorded"
    needs = "a file of answers: --option file=FILE"

    def __init__(self, options: Options) -> None:
        for key in options:
            if key != "file":
                raise BadUsage(f"recorded: unknown option {key!r:.40}{did_you_mean(key, ['file'])}")
        if not isinstance(options.get("file"), (str, Path)):
            raise BadUsage("recorded needs the file of answers: --option file=answers.jsonl")
        path = Path(options["file"])
        self._answers: dict[tuple[str, str, str], Evaluation] = {}
        scorers: dict[str, int] = {}
        for line, record in _lines(path):
            answer = evaluation_of(record)
            scorers.setdefault(answer.scorer, line)
            # It was paid for when it was recorded.
            free = replace(answer, cost=0.0, usage=Usage())
            self._answers[record["source"], record["id"], record["text_digest"]] = free
        if len(scorers) > 1:
            why = "answers of several scorers, of which one may stay: {!r:.80}"
            raise BadEvents([Fault(str(path), n, 0, why.format(by)) for by, n in scorers.items()])
        if not scorers:
            raise BadUsage(f"recorded: {str(path)!r:.200} holds no answers; --record writes them")
        self.scorer = next(iter(scorers))

    def evaluate(self, question: Question) -> Answer:
        answer = self._answers.get((question.source, question.id, text_digest(question.text)))
        return NotMeasured("no recorded answer", final=True) if answer is None else answer


def text_digest(text: str) -> str:
    """What tells one text from another; places of quotes are only right in the text they are of."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    faults = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
                try:
                    record = json.loads(line) if len(line) <= LONGEST_LINE else None
                except (ValueError, RecursionError):
                    record = None
                # Other records may stand beside: they are what `evaluate --json` says besides.
                if isinstance(record, Mapping) and record.get("record") != "evaluation":
                    continue
                if why := _fault(record):
                    faults.append(Fault(str(path), number, 0, why))
                elif not faults:
                    assert isinstance(record, dict)
                    yield number, record
    except OSError as error:
        raise BadUsage(f"recorded: {path}: {error.strerror or error}") from None
    if faults:
        raise BadEvents(faults)


def _fault(record: Any) -> str:
    """What is wrong with a recorded answer; '' where nothing is."""
    if not isinstance(record, Mapping):
        return f"no JSON object of at most {LONGEST_LINE:,} bytes"
    for key in ("source", "id", "text_digest"):
        if not isinstance(record.get(key), str):
            return f"a recorded answer needs {key}, a text"
    return fault_of(record)
