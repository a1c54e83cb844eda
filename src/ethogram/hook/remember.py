"""Remembering: what is kept of a step so that it can be spoken of, without secrets and with a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..records.event import Event, Value
from ..records.mask import mask
from ..signals.steps.failure import failure_line
from ..signals.steps.operations import operations_of
from ..signals.steps.paths import joined
from ..signals.steps.step import read_step
from .payload import MARK
from .plan_records import Plan, State
from .standing import digest

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What a terminal obeys and nobody sees."""
_BRACKETS = str.maketrans("<>", "‹›")
"""What was printed by a tool must not look like a tag in what we say."""
MOST_RECENT = 30
MOST_SHOWN = 120
MOST_SAID = 200


def recent_steps(
    state: State, event: Event, readings: Mapping[str, Value], number: int, cwd: str
) -> list[dict[str, Any]]:
    """The newest steps, this one last, which is that of this number: digests, and excerpts to speak of."""
    step, error = read_step(event), str(readings.get("error_key", ""))
    key = str(readings.get("step_key", readings.get("talk_key", "")))
    operation, path = str(readings.get("operation", "")), str(readings.get("touched_path", ""))
    path = joined(cwd, path) if path else ""
    # As it was written: the key has numbers and paths taken out.
    line = failure_line(step, operation) if step is not None and error else None
    one = {
        "n": number,
        "key": digest(key),
        "call": "" if step is None else call_mark(event),
        "tool": "" if step is None else shorten(step.tool, 60),
        "shown": shorten(_shown(event, key), MOST_SHOWN),
        "operations": [] if step is None else list(operations_of(step)),
        "error": shorten(line or error, MOST_SAID) if error else "",
        "error_key": digest(error) if error else "",
        "path": shorten(path, MOST_SHOWN),
        "path_key": digest(path) if path else "",
        "progress": readings.get("progress") == 1,
        "outside": readings.get("out_of_scope") == 1 or readings.get("critical_path") == 1,
    }
    return [*state["recent"], one][-MOST_RECENT:]


def _shown(event: Event, key: str) -> str:
    """What a step does, in its own words where its result tells them, else as its key does."""
    step = read_step(event)
    said = "" if step is None else step.command or step.path
    if step is None or not said:
        return key.rpartition(" #")[0] or key
    return said if said.startswith(f"{step.tool} ") else f"{step.tool}: {said}"


def call_mark(event: Event) -> str:
    """A digest of what a step does, known before it is done."""
    mark = event.attributes.get(MARK)
    return mark if isinstance(mark, str) else ""


def shorten(text: str, most: int) -> str:
    """One line, masked, in at most so many characters.

    >>> shorten("curl  -H 'Authorization: Bearer abcdefghijklmnop1234'", 80)
    "curl -H 'Authorization: Bearer [secret]'"
    """
    shown = _ESCAPES.sub(" ", mask(text)).translate(_BRACKETS)
    # Controls, marks that change the direction of text, and letters nobody sees.
    shown = "".join([char if char.isprintable() else " " for char in shown])
    shown = " ".join(shown.split())
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def goal_of(plan: Plan, event: Event) -> str:
    """What the run is for, as far as this event and the settings say."""
    if plan.options.goal:
        return shorten(plan.options.goal, MOST_SAID)
    is_person = event.kind == "message" and event.attributes.get("role") == "user"
    return shorten(event.text or "", MOST_SAID) if is_person else ""


def without_secrets(saved: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """What signals remember, with every text masked: it may hold a part of a command. Whose it is stays.

    What was there before is masked already, and marks of at most 16 letters and digits are digests.
    """
    known = {text for one in before["states"] for text in _texts(one[3])} if before else set()

    def masked(one: Any) -> Any:
        if isinstance(one, str):
            is_mark = len(one) <= 16 and one.isalnum()
            return one if is_mark or one in known else mask(one)
        if isinstance(one, list | tuple):
            return [masked(part) for part in one]
        return {name: masked(part) for name, part in one.items()} if isinstance(one, dict) else one

    return {**saved, "states": [[*one[:3], masked(one[3])] for one in saved["states"]]}


def _texts(saved: Any) -> Iterator[str]:
    if isinstance(saved, str):
        yield saved
    elif isinstance(saved, list | tuple | dict):
        for one in saved.values() if isinstance(saved, dict) else saved:
            yield from _texts(one)
