"""Small runs of agents with known answers, and two patterns of our own that find something in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ethogram.app.analyze import analyze_batch, load_library
from ethogram.app.result import Analysis
from ethogram.app.run_record import Run
from ethogram.app.runs import run_report
from ethogram.config import Settings
from ethogram.ingest import Limits, events_of
from small import write_patterns

SAME_ERROR = """\
name: same_error
title: The same error again
description: The same error three times with nothing new in between.
group_by: [subject, thread]
shape:
  threshold: {when: "top_count(error_key, last=10, since=progress == 1) >= 3", clears: progress == 1}
confidence: clip(top_count(error_key, last=10) / 10, 0, 1)
severity: {medium: progress == 0, high: "top_count(error_key, last=10) >= 4"}
explanation: "{subject} met one error again and again."
recommendation: Try something else.
examples:
  fires:
    - {story: three times, thread: r, error_key: [a, a, a], progress: [0, 0, 0], at: 3}
  quiet:
    - {story: twice, thread: r, error_key: [a, a], progress: [0, 0]}
    - {story: different ones, thread: r, error_key: [a, b, c], progress: [0, 0, 0]}
"""
SAME_STEP = """\
name: same_step
title: The same step again
description: The same step three times in a row.
group_by: [subject, thread]
shape:
  threshold: {when: "run(step_key, last=20) >= 3", clears: progress == 1}
confidence: 0.5
severity: low
explanation: "{subject} did the same again and again."
recommendation: Do something else.
examples:
  fires:
    - {story: three times, thread: r, step_key: [a, a, a], progress: [0, 0, 0], at: 3}
  quiet:
    - {story: twice, thread: r, step_key: [a, a], progress: [0, 0]}
    - {story: by turns, thread: r, step_key: [a, b, a], progress: [0, 0, 0]}
"""
SAME_WORDS = """\
name: same_words
title: The same words again
description: The same words three times in a row.
group_by: [subject, thread]
shape:
  threshold: {when: "run(talk_key, last=20) >= 3", clears: never}
confidence: 0.5
severity: low
explanation: "{subject} said the same again and again."
examples:
  fires:
    - {story: three times, thread: r, talk_key: [a, a, a], at: 3}
  quiet:
    - {story: twice, thread: r, talk_key: [a, a]}
    - {story: by turns, thread: r, talk_key: [a, b, a]}
"""

Line = dict[str, Any]


class Maker:
    """Writes the lines of one agent in one run, ten seconds from one to the next."""

    def __init__(
        self, thread: str = "run-1", subject: str = "fixer", *, timed: bool = True, **more: Any
    ) -> None:
        self.lines: list[Line] = []
        self._common = {"subject": subject, "thread": thread}
        self._timed, self._more, self._calls = timed, more, 0

    def line(self, kind: str, attributes: Mapping[str, Any], **fields: Any) -> Line:
        number = len(self.lines)
        made = {**self._common, "kind": kind, "attributes": {**attributes, **self._more}, **fields}
        made["id"] = f"{made['subject']}-{made['thread']}-{number}"
        if self._timed:
            made["at"] = (
                f"2026-01-05T{12 + number // 360:02d}:{number // 6 % 60:02d}:{10 * (number % 6):02d}Z"
            )
        self.lines.append(made)
        return made

    def call(
        self, tool: str, call_id: str = "", readings: Mapping[str, Any] | None = None, **told: Any
    ) -> str:
        self._calls += 1
        name = call_id or f"c{self._calls}"
        self.line("action", {"tool": tool, "call_id": name, "tokens": 100, **told}, readings=readings or {})
        return name

    def result(self, call_id: str, *, error: str = "", key: str = "", new: bool = False, **told: Any) -> None:
        """What came of a call; an error has the key that is given, or is its own."""
        readings: dict[str, Any] = {"progress": float(new)}
        readings |= {"error_key": key or error} if error else {}
        self.line(
            "result",
            {"call_id": call_id, **({"error": error} if error else {"result": "ok"}), **told},
            readings=readings,
        )

    def did(self, tool: str, *, error: str = "", new: bool = True, **told: Any) -> None:
        """A call and its result."""
        duration = told.pop("duration", None)
        call = self.call(tool, **told)
        more = {} if duration is None else {"duration": duration}
        self.result(call, error=error, new=new and not error, **more)

    def says(self, text: str, role: str = "user") -> None:
        self.line("message", {"role": role}, text=text)


def four_failing_edits(thread: str = "run-1", **how: Any) -> list[Line]:
    """Nine steps: the third to the sixth are the same failing edit, the seventh does something new."""
    maker = Maker(thread, **how)
    maker.says("Mend the parser.")
    maker.did("read", path="src/parse.py")
    maker.did("read", path="src/lex.py")
    for _ in range(4):
        maker.did("edit", path="src/parse.py", error="string not found", cost=0.25, duration=2)
    maker.did("read", path="src/parse.py")
    maker.did("edit", path="src/parse.py")
    maker.did("bash", command="make test")
    return maker.lines


def analyzed_runs(folder: Path, lines: Iterable[Line], **how: Any) -> tuple[Analysis, tuple[Run, ...]]:
    """What the three patterns find in these lines, and the runs."""
    settings = Settings()
    library = load_library([write_patterns(folder / "patterns", SAME_ERROR, SAME_STEP, SAME_WORDS)], settings)
    batch = events_of(list(lines), kinds=library.kinds, limits=Limits(text=2_000_000, line=9_000_000))
    analysis = analyze_batch(batch, library, settings=settings, traced=True, **how)
    return analysis, run_report(analysis.listed(), batch.events, as_of=analysis.as_of, settings=settings)


def runs_of(folder: Path, lines: Iterable[Line], **how: Any) -> tuple[Run, ...]:
    """The runs alone."""
    return analyzed_runs(folder, lines, **how)[1]
