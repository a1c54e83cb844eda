"""Steps: tool calls and results as plain, bounded values, and the calls that wait for their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ...models import Event
from ...models.arguments import command_in, path_in
from ...models.constants import MAX_ERROR, MAX_RESULT
from ...models.slotted import dataclass
from ..options import Options
from .normalization import short_hash

MAX_NAME = 200
MAX_COMMAND = 4_000
OUTCOME = ("result", "exit_code", "error")


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call, its result, or both where one event holds both.

    `error` is the text of the error, '' where the source reports an error without text, None without one.
    `length` is the number of characters of the whole result.
    """

    is_call: bool
    is_outcome: bool
    tool: str
    arguments: Mapping[str, Any]
    command: str
    path: str
    call_id: str
    batch: str
    result: str
    length: int
    exit_code: int | None
    error: str | None
    is_recorded: bool
    """Whether anything is known of how it ended: a result, even an empty one, an error or an exit code."""

    @property
    def reports_failure(self) -> bool:
        """Whether the source itself reports an error or a non-zero exit code."""
        return self.error is not None or self.exit_code not in (None, 0)


_newest: tuple[Mapping[str, Any], bool, Step] | None = None
"""The step that was read last, with its attributes: several signals read the same one."""


def read_step(event: Event) -> Step | None:
    """Return the step of an event; None where it is neither a call nor a result."""
    global _newest
    if (kind := event.kind) not in ("action", "result"):
        return None
    attributes, is_call, known = event.attributes, kind == "action", _newest
    if known is None or known[0] is not attributes or known[1] is not is_call:
        known = _newest = (attributes, is_call, _read(attributes, is_call))
    return known[2]


def _read(attributes: Mapping[str, Any], is_call: bool) -> Step:
    get = attributes.get
    arguments = _arguments(get("arguments"))
    outcome, error, code = get("result"), get("error"), get("exit_code")
    is_recorded = outcome is not None or error is not None or code is not None
    result, length = _text(outcome, MAX_RESULT), get("result_length")
    command = get("command") or (command_in(arguments) if arguments else None)
    path = get("path") or (path_in(arguments) if arguments else None)
    return Step(
        is_call=is_call,
        is_outcome=is_recorded or not is_call,
        tool=_name(get("tool")),
        arguments=arguments,
        command=_text(command, MAX_COMMAND),
        path=_text(path, MAX_COMMAND),
        call_id=_name(get("call_id")),
        batch=_name(get("batch")),
        result=result,
        length=length if isinstance(length, int) and len(result) < length < 2**53 else len(result),
        exit_code=int(code) if isinstance(code, int) and -(2**31) < code < 2**32 else None,
        error=_error(error),
        is_recorded=is_recorded,
    )


def _arguments(value: Any) -> Mapping[str, Any]:
    """Arguments as an object, given as one or as JSON text."""
    if value is None or type(value) is dict:
        return value or {}
    if isinstance(value, str) and value.lstrip().startswith("{") and len(value) <= MAX_RESULT:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"input": value}
    if isinstance(value, str):
        return {"input": value[:MAX_RESULT]}
    return value if isinstance(value, Mapping) else {}


def _error(value: Any) -> str | None:
    if value is None:
        return None
    if value is True:
        return ""
    if isinstance(value, str):
        return value[:MAX_ERROR] if value.strip() else None
    if isinstance(value, Mapping):
        message = value.get("message") or value.get("type") or value.get("error")
        return message[:MAX_ERROR] if isinstance(message, str) else ""
    return None


def _name(value: Any) -> str:
    return value[:MAX_NAME] if isinstance(value, str) else ""


def _text(value: Any, size: int) -> str:
    """Return a text as it is, or the names and values of a list or mapping as one text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:size]
    if isinstance(value, (bool, int, float)):
        return str(value)[:MAX_NAME]
    return " ".join(_leaves(value, size))[:size] if isinstance(value, (Mapping, list, tuple)) else ""


def _leaves(value: Any, size: int) -> list[str]:
    """Names and values in order; breadth and depth are bounded."""
    texts: list[str] = []
    queue: list[Any] = [value]
    total = 0
    while queue and total < size and len(texts) < 2_000:
        item = queue.pop()
        if isinstance(item, Mapping):
            pairs = list(item.items())[:500]
            queue.extend(part for name, inner in reversed(pairs) for part in (inner, str(name)))
        elif isinstance(item, (list, tuple)):
            queue.extend(reversed(item[:500]))
        elif isinstance(item, (str, bool, int, float)):
            texts.append(str(item)[:size] if not isinstance(item, int) or abs(item) < 2**63 else "N")
            total += len(texts[-1])
    return texts


def argument_text(arguments: Mapping[str, Any], exclude: frozenset[str] = frozenset()) -> str:
    """Return the arguments as one text, sorted by name, without those excluded."""
    included = {name: arguments[name] for name in sorted(map(str, arguments)) if name not in exclude}
    if len(included) == 1:
        # The common case, one text argument, without the walk.
        [(name, value)] = included.items()
        if isinstance(value, str):
            return f"{name} {value}"[: MAX_COMMAND * 2]
    return _text(included, MAX_COMMAND * 2)


def words(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(words("a b"))
    ['a', 'b']
    """
    return frozenset(text.split())


# Calls waiting for their results.

Pending = tuple[tuple[str, str, Mapping[str, Any]], ...]
"""Calls without a result yet, oldest first: hashes of the call's id and batch, and summaries by name."""

Calls = tuple[bool, str, Pending]
"""Whether this run has had a result; the batch being called, '' after a result; the pending calls."""

NONE: Calls = (False, "", ())
MAX_PENDING = 32

Call = tuple[Step | None, Any, str]
"""The step if it counts at this event, the summary of its call, and its batch."""

# Several signals hash the same few names.
cached_hash = lru_cache(maxsize=64)(short_hash)


def pair(
    event: Event, calls: Calls, summaries: Mapping[str, Callable[[Step, Options], Any]], options: Options
) -> tuple[Mapping[str, Call], Calls]:
    """Return the call of an event under the name of each summary, and the pending calls.

    A step counts at its result; at its call if that has the outcome, or as long as the run has had no
    result. Consecutive calls without a result in between are one batch, whether or not the source says so.
    """
    step = read_step(event)
    assert step is not None
    has_results, batch, pending = calls
    counts: Step | None = step
    place = None if step.is_call else _place(pending, step)
    if place is not None:
        _, own_batch, known = pending[place]
        calls = (True, "", (*pending[:place], *pending[place + 1 :]))
    else:
        own_batch = _hash(step.batch) or cached_hash(event.id)
        known = {name: summarize(step, options) for name, summarize in summaries.items()}
        if step.is_call and not step.is_outcome:
            counts = None if has_results else step
            batch = _hash(step.batch) or batch or own_batch
            calls = (has_results, batch, (*pending[1 - MAX_PENDING :], (_hash(step.call_id), batch, known)))
        else:
            calls = (True, "", pending)
    # A call from before another signal was added has no summary of it.
    return {
        name: (counts, known[name] if name in known else summarize(step, options), own_batch)
        for name, summarize in summaries.items()
    }, calls


def _place(pending: Pending, step: Step) -> int | None:
    """The pending call a result belongs to: that with its id, else the oldest without one.

    A result without an id belongs to the oldest call if all have ids.
    """
    own = _hash(step.call_id)
    for wanted in (own, ""):
        for place, item in enumerate(pending):
            if item[0] == wanted:
                return place
    return 0 if pending and not own else None


def _hash(name: str) -> str:
    return cached_hash(name) if name else ""
