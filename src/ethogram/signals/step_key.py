"""step_key: the same step has the same key, however thoughts are worded and temporary files named."""

from __future__ import annotations

from typing import Any

from ..records import Event
from .define import signal
from .options import Options
from .steps.calls import NONE, Calls, outcome
from .steps.step import Step, argument_text
from .steps.volatile import cleaned, digest, short_hash
from .steps.words import words

BESIDE = words(
    "thought thoughts reasoning reason description explanation rationale comment security_risk "
    "summary timeout timeout_ms"
)
"""Arguments that say why, not what."""
SHOWN = 48
MOST_IN_BATCH = 32
NOTHING = short_hash("")

Batch = tuple[str, tuple[str, ...]]
"""A mark of the batch under way, and the keys it has had."""


@signal("step_key", range=None, kinds=("action", "result"))
class StepKey:
    """The action and its result, with what varies by chance taken out.

    Thoughts do not count, nor do times, ids and temporary names. Steps of one batch that are the same count
    once.
    """

    scope = "run"
    start: tuple[Calls, Batch] = (NONE, ("", ()))
    max_state_bytes = 8_000

    def measure(
        self, event: Event, state: tuple[Calls, Batch], options: Options
    ) -> tuple[str | None, tuple[Calls, Batch]]:
        """The key, and the calls that wait."""
        calls, batch = state
        strength = options.normalization
        step, kept, own, calls = outcome(event, calls, lambda one: _call(one, strength))
        if step is None:
            return None, (calls, batch)
        shown, mark = kept
        told = _result(step, strength) if step.is_outcome else "-"
        key = f"{shown} #{short_hash(mark + told)}"
        keys = batch[1] if own == batch[0] else ()
        again = key in keys
        return (None if again else key), (calls, (own, keys if again else (*keys, key)[-MOST_IN_BATCH:]))


def _call(step: Step, strength: str) -> tuple[str, str]:
    """What is shown of a call, and a mark of all of it."""
    said = argument_text(step.arguments, BESIDE) if step.arguments else f"{step.command} {step.path}"
    hint = step.command or step.path or said
    shown = cleaned(f"{step.tool} {hint[: 2 * SHOWN]}", strength)[:SHOWN].strip()
    return shown or "step", digest(f"{step.tool}\n{said}", strength)


def _result(step: Step, strength: str) -> Any:
    # Of a result that is not told in full, how long it was says something of the rest.
    more = step.length if step.length > len(step.result) else 0
    error = digest(step.error, strength) if step.error else NOTHING
    return f"{digest(step.result, strength)} {step.exit_code} {error} {more}"
