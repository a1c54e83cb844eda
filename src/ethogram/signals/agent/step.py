"""Step: one event of an agent's run, with its attributes as plain, bounded values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...models import Event
from ...models.arguments import FOLDERS, PATHS, command_in, path_in
from ...models.constants import MAX_ERROR, MAX_RESULT
from ...models.slotted import dataclass

# Step: one event of an agent's run, with its attributes as plain, bounded values.

LONGEST_NAME = 200
LONGEST_COMMAND = 4_000
OUTCOME = ("result", "exit_code", "error")
_OF_PATHS = frozenset((*PATHS, *FOLDERS))
_OF_OUTCOMES = frozenset(OUTCOME)


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a tool, what came of it, or both where one event tells both.

    `error` is the text of the error, '' where one is only said to have happened, None where none is told.
    `length` is how many characters the whole result had.
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

    @property
    def said_to_fail(self) -> bool:
        """Whether the source itself says that it failed."""
        return self.error is not None or self.exit_code not in (None, 0)


_last: tuple[Any, str, Step | None] | None = None


def read_step(event: Event) -> Step | None:
    """The step that an event is; None where it is neither a call nor a result."""
    # Many signals ask about one event in turn; its attributes are the same object for all of them.
    global _last
    known = _last
    if known is not None and known[0] is event.attributes and known[1] == event.kind:
        return known[2]
    step = _read(event)
    _last = (event.attributes, event.kind, step)
    return step


def _read(event: Event) -> Step | None:
    if event.kind not in ("action", "result"):
        return None
    attributes = event.attributes
    arguments, result = _arguments(attributes.get("arguments")), _text(attributes.get("result"), MAX_RESULT)
    is_call = event.kind == "action"
    code = attributes.get("exit_code")
    return Step(
        is_call=is_call,
        is_outcome=not is_call or _tells_outcome(attributes),
        tool=_name(attributes.get("tool")),
        arguments=arguments,
        command=_text(
            attributes.get("command") or (command_in(arguments) if arguments else None), LONGEST_COMMAND
        ),
        path=_text(attributes.get("path") or _path(arguments), LONGEST_COMMAND),
        call_id=_name(attributes.get("call_id")),
        batch=_name(attributes.get("batch")),
        result=result,
        length=_length(attributes.get("result_length"), len(result)),
        exit_code=int(code) if isinstance(code, int) and -(2**31) < code < 2**32 else None,
        error=_error(attributes.get("error")),
    )


def _tells_outcome(record: Mapping[str, Any]) -> bool:
    # Most calls name none of these, which is quicker to see than what each of them is.
    return not _OF_OUTCOMES.isdisjoint(record) and any(record.get(name) is not None for name in OUTCOME)


def _arguments(value: Any) -> Mapping[str, Any]:
    """Arguments as an object, whether they came as one or as JSON text."""
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


def _path(arguments: Mapping[str, Any]) -> str | None:
    # Most arguments name none, and this is quicker than to ask for each in turn.
    return None if _OF_PATHS.isdisjoint(arguments) else path_in(arguments)


def _error(value: Any) -> str | None:
    if value is None:
        return None
    if value is True:
        return ""
    if isinstance(value, str):
        return value[:MAX_ERROR] if value.strip() else None
    if isinstance(value, Mapping):
        said = value.get("message") or value.get("type") or value.get("error")
        return said[:MAX_ERROR] if isinstance(said, str) else ""
    return None


def _name(value: Any) -> str:
    return value[:LONGEST_NAME] if isinstance(value, str) else ""


def _length(value: Any, shown: int) -> int:
    return value if isinstance(value, int) and shown < value < 2**53 else shown


def _text(value: Any, most: int) -> str:
    """A text as it is; of a list or mapping, what its values say."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, bool | int | float):
        return str(value)[:LONGEST_NAME]
    if isinstance(value, Mapping | list | tuple):
        return " ".join(_leaves(value, most))[:most]
    return ""


def _leaves(value: Any, most: int) -> list[str]:
    """Names and values in the order they stand; breadth and depth are bounded."""
    texts: list[str] = []
    waiting: list[Any] = [value]
    size = 0
    while waiting and size < most and len(texts) < 2_000:
        entry = waiting.pop()
        if isinstance(entry, Mapping):
            pairs = list(entry.items())[:500]
            waiting.extend(part for name, item in reversed(pairs) for part in (item, str(name)))
        elif isinstance(entry, list | tuple):
            waiting.extend(reversed(entry[:500]))
        elif isinstance(entry, str | bool | int | float):
            said = str(entry)[:most] if not isinstance(entry, int) or abs(entry) < 2**63 else "N"
            texts.append(said)
            size += len(said)
    return texts


def argument_text(arguments: Mapping[str, Any], leave_out: frozenset[str]) -> str:
    """Arguments as one text, in the order of their names, without those left out."""
    kept = {name: arguments[name] for name in sorted(map(str, arguments)) if name not in leave_out}
    if len(kept) == 1:
        # Most calls have one argument, a text, and this is what is said below, sooner.
        [(name, value)] = kept.items()
        if isinstance(value, str):
            return f"{name} {value}"[: LONGEST_COMMAND * 2]
    return _text(kept, LONGEST_COMMAND * 2)


# Sets of words, written as one would say them.


def words(text: str) -> frozenset[str]:
    """The words of a text.

    >>> sorted(words("a b"))
    ['a', 'b']
    """
    return frozenset(text.split())
