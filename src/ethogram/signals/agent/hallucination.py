"""Hallucinated references: the signals phantom, phantom_name and recovery."""

from __future__ import annotations

import re

from ...models import Event
from ...models.lazy_regex import Rule
from ..base import signal
from .errors import failure_line
from .normalization import short_hash
from .operations import operation_of
from .paths import touched
from .shown import excerpt
from .step import Call, Step, read_step

_ABSENT = Rule(r"no such file|does not exist|not[ _]found|cannot find|can't find|couldn't find|ENOENT", re.I)
_NO_TOOL = Rule(
    r"(?:unknown|no such|invalid|unrecognized) (?:tool|command|function|action)\b"
    r"|\btool\b.{0,60}(?:not found|does not exist"
    r"|not available|unknown)|unknown command|: command not found|is not a (?:valid|known) (?:tool|command)",
    re.I,
)
_CLAIM = Rule(
    r"\ball (?:the )?(?:\d+ )?tests? (?:now |are )?pass|\btests? (?:now |all )+pass|\b(?:successfully"
    r"|fully) (?:fixed|resolved|implemented)"
    r"|\beverything (?:works|passes)|\bthe (?:bug|issue|problem) (?:is|has been) (?:now )?(?:fixed|resolved)",
    re.I,
)
MAX_KNOWN = 200
RECOVERY_STEPS = 20
"""Steps after which reading or searching no longer counts as recovery."""

State = tuple[tuple[str, ...], int]
"""Hashes of the paths that existed; 1 where the last test failed."""


STATED = ("action", "result", "message", "assertion", "reference")
"""Kinds of events that may name what does not exist."""


def call_references(step: Step) -> tuple[str, tuple[str, ...]]:
    """Return what a call does, and hashes of the paths it names."""
    return operation_of(step), tuple(short_hash(path) for path, _ in touched(step))


@signal(
    "phantom",
    range=("none", "file", "reference", "assertion"),
    version=4,
    kinds=STATED,
    summarize=call_references,
)
class MissingReference:
    """What a step or message assumes that does not exist: a file, a tool, a success; none otherwise.

    A file that existed earlier in the run does not count, nor does one that the step was to create. A claim
    of success counts while the last test failed. What the source itself marks counts at once: `exists`
    false (a reference), `verified` false (an assertion), and a failed step with `assumed_exists` (a file).
    """

    scope = "run"
    start: State = ((), 0)
    max_state_bytes = 56_000

    def measure(self, event: Event, state: State, call: Call | None) -> tuple[str | None, State]:
        known, failing = state
        if (mark := _marked(event)) is not None:
            return mark, state
        if call is None:
            if event.attributes.get("role") != "assistant" or event.text is None:
                return None, state
            claims = failing and _CLAIM.search(event.text[:4_000]) is not None
            return ("assertion" if claims else "none"), state
        step, (operation, paths), _ = call
        if step is None or not step.is_outcome:
            return None, state
        line = failure_line(step, operation)
        if operation == "test":
            failing = int(line is not None)
        if line is None:
            new = tuple(path for path in paths if path not in known)
            return "none", ((*known, *new)[-MAX_KNOWN:], failing)
        needs_file = operation in ("read", "write", "delete") and paths and not set(paths) & set(known)
        is_file = event.attributes.get("assumed_exists") is True or (needs_file and _ABSENT.search(line))
        missing = "reference" if _NO_TOOL.search(line) else "file" if is_file else "none"
        return missing, (known, failing)


def _marked(event: Event) -> str | None:
    """What the source itself says does not exist or was not verified."""
    if event.attributes.get("exists") is False:
        return "reference"
    return "assertion" if event.attributes.get("verified") is False else None


NAMING = ("target", "claim", "reference")
"""Attributes that name what a source marked."""


@signal("phantom_name", range=None, version=2, needs=("phantom",), kinds=STATED, summarize=touched)
def phantom_name(event: Event, call: Call | None) -> str | None:
    """What does not exist: the path, the tool or command, or the claim; absent where nothing is missing."""
    kind = event.readings.get("phantom")
    if kind is None or kind == "none":
        return None
    marked = [event.attributes.get(name) for name in NAMING]
    marked += [event.target] if event.kind == "reference" else []
    if (name := next((text for text in marked if isinstance(text, str) and text), None)) is not None:
        return excerpt(name)
    paths, step = call[1] if call is not None else (), read_step(event)
    if kind == "file" and paths:
        return str(paths[0][0])
    text = event.text if step is None else step.command or step.tool or event.text
    return excerpt(text) if text else None


@signal("recovery", range=(0, 1), version=2, kinds=STATED, needs=("phantom", "operation"))
class Recovery:
    """1.0 where a step lists, searches or reads successfully within twenty steps of the latest phantom.

    0.0 at other steps, and absent where no phantom is measured.
    """

    scope = "run"
    start: int | None = None
    max_state_bytes = 8

    def measure(self, event: Event, state: int | None) -> tuple[float | None, int | None]:
        phantom = event.readings.get("phantom")
        if phantom is None:
            return None, state
        if phantom != "none":
            return 0.0, 0
        if state is None or state >= RECOVERY_STEPS:
            return 0.0, state
        operation, step = event.readings.get("operation"), read_step(event)
        looks = operation in ("read", "list", "search")
        return float(looks and step is not None and failure_line(step, str(operation)) is None), state + 1
