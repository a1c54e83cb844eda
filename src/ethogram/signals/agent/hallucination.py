"""Hallucinated references: things an agent takes to exist that do not, and recovery from it."""

from __future__ import annotations

import re

from ...models import Event
from ..base import signal
from .errors import failure_line
from .normalization import short_hash
from .operations import operation_of
from .paths import touched
from .step import Step, read_step
from .tool_calls import NONE, Calls, outcome

# phantom: what an agent speaks of as if it were there.

_ABSENT = re.compile(
    r"no such file|does not exist|not found|cannot find|can't find|couldn't find|ENOENT", re.I
)
_NO_TOOL = re.compile(
    r"(?:unknown|no such|invalid|unrecognized) (?:tool|command|function|action)\b"
    r"|\btool\b.{0,60}(?:not found|does not exist"
    r"|not available|unknown)|unknown command|: command not found|is not a (?:valid|known) (?:tool|command)",
    re.I,
)
_CLAIM = re.compile(
    r"\ball (?:the )?(?:\d+ )?tests? (?:now |are )?pass|\btests? (?:now |all )+pass|\b(?:successfully"
    r"|fully) (?:fixed|resolved|implemented)"
    r"|\beverything (?:works|passes)|\bthe (?:bug|issue|problem) (?:is|has been) (?:now )?(?:fixed|resolved)",
    re.I,
)
MOST_KNOWN = 200

State = tuple[Calls, tuple[str, ...], int]
"""Calls that wait; the paths that were there, as digests; 1 where the last test failed."""


@signal(
    "phantom",
    range=("none", "file", "reference", "assertion"),
    version=2,
    kinds=("action", "result", "message"),
)
class Phantom:
    """What a step or message takes to be there that is not: a file, a tool, a success; none otherwise.

    A file that was there earlier in the run does not count, nor does one that the step was to create. A
    success counts that is claimed while the last test failed.
    """

    scope = "run"
    start: State = (NONE, (), 0)
    max_state_bytes = 56_000

    def measure(self, event: Event, state: State) -> tuple[str | None, State]:
        """What is not there, and what is known by now."""
        calls, known, failing = state
        if event.kind == "message":
            if event.attributes.get("role") != "assistant" or event.text is None:
                return None, state
            claims = failing and _CLAIM.search(event.text[:4_000]) is not None
            return ("assertion" if claims else "none"), state
        step, kept, _, calls = outcome(event, calls, _kept)
        if step is None or not step.is_outcome:
            return None, (calls, known, failing)
        operation, marks = kept
        line = failure_line(step, operation)
        if operation == "test":
            failing = int(line is not None)
        if line is None:
            new = tuple(mark for mark in marks if mark not in known)
            return "none", (calls, (*known, *new)[-MOST_KNOWN:], failing)
        return _sort(step, operation, line, marks, known), (calls, known, failing)


def _sort(step: Step, operation: str, line: str, marks: tuple[str, ...], known: tuple[str, ...]) -> str:
    if _NO_TOOL.search(line):
        return "reference"
    looks = operation in ("read", "write", "delete") and bool(marks)
    return "file" if looks and _ABSENT.search(line) and not any(mark in known for mark in marks) else "none"


def _kept(step: Step) -> tuple[str, tuple[str, ...]]:
    return operation_of(step), tuple(short_hash(path) for path, _ in touched(step))


# recovery: a look at what is there, soon after something was taken to be there that is not.

SOON = 20
"""Steps after which a look has nothing to do with a phantom any more."""
LOOKS = ("read", "list", "search")


@signal("recovery", range=(0, 1), kinds=("action", "result", "message"), needs=("phantom", "operation"))
class Recovery:
    """1.0 where a step looks for what is there (lists, searches or reads) and succeeds, after a phantom.

    That is one within the twenty steps and messages after the latest phantom. 0.0 at other steps, and absent
    where no phantom is measured.
    """

    scope = "run"
    start: int | None = None
    max_state_bytes = 8

    def measure(self, event: Event, state: int | None) -> tuple[float | None, int | None]:
        """Whether it is such a look, and how many steps ago the latest phantom was; None: there was none."""
        phantom = event.readings.get("phantom")
        if phantom is None:
            return None, state
        if phantom != "none":
            return 0.0, 0
        if state is None or state >= SOON:
            return 0.0, state
        return float(_looks(event)), state + 1


def _looks(event: Event) -> bool:
    operation = event.readings.get("operation")
    step = read_step(event)
    return operation in LOOKS and step is not None and failure_line(step, str(operation)) is None
