"""The signal step_key: equal steps have equal keys."""

from __future__ import annotations

from ...models import Event
from ..base import signal
from ..options import Options
from .normalization import cleaned, digest, short_hash
from .step import Step, argument_text, words
from .tool_calls import Call

COMMENTS = words(
    "thought thoughts reasoning reason description explanation rationale comment security_risk "
    "summary timeout timeout_ms"
)
"""Arguments that say why, not what."""
THOUGHTS = words("thought thoughts reasoning")
SHOWN_STEP = 48
MAX_THOUGHTS = 16
MAX_BATCH = 32
NO_ERROR = short_hash("")

Batch = tuple[str, tuple[str, ...]]
State = tuple[Batch, tuple[str, ...]]
"""The current batch and its keys; hashes of the thoughts so far."""


def call_key(step: Step, options: Options) -> tuple[str, str, bool]:
    """Return what is shown of a call, a hash of all of it, and whether it is only a thought."""
    strength = options.normalization
    # Where a tool takes nothing but comments, they are what it does.
    exclude = frozenset[str]() if COMMENTS.issuperset(step.arguments) else COMMENTS
    text = argument_text(step.arguments, exclude) if step.arguments else f"{step.command} {step.path}"
    hint = step.command or step.path or text
    shown = cleaned(f"{step.tool} {hint[: 2 * SHOWN_STEP]}", strength)[:SHOWN_STEP].strip()
    is_thought = bool(step.arguments) and THOUGHTS.issuperset(step.arguments)
    return shown or "step", digest(f"{step.tool}\n{text}", strength), is_thought


@signal("step_key", range=None, version=2, kinds=("action", "result"), summarize=call_key)
class StepKey:
    """The action and its result, without what varies by chance.

    Thoughts beside other arguments do not count, nor do times, ids and temporary names. Equal steps of one
    batch count once. A call that is only a thought is no step until the thought recurs.
    """

    scope = "run"
    start: State = (("", ()), ())
    max_state_bytes = 8_000

    def measure(self, event: Event, state: State, call: Call, options: Options) -> tuple[str | None, State]:
        """Return the key and the new state."""
        step, (shown, hashed, is_thought), own = call
        if step is None:
            return None, state
        batch, thoughts = state
        if is_thought and hashed not in thoughts:
            return None, (batch, (*thoughts, hashed)[-MAX_THOUGHTS:])
        result = _result(step, options.normalization) if step.is_outcome else "-"
        key = f"{shown} #{short_hash(hashed + result)}"
        keys = batch[1] if own == batch[0] else ()
        if key in keys:
            return None, ((own, keys), thoughts)
        return key, ((own, (*keys, key)[-MAX_BATCH:]), thoughts)


def _result(step: Step, strength: str) -> str:
    # The full length stands for the rest of a result that was cut.
    length = step.length if step.length > len(step.result) else 0
    error = digest(step.error, strength) if step.error else NO_ERROR
    return f"{digest(step.result, strength)} {step.exit_code} {error} {length}"
