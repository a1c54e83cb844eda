"""step_key, talk_key and exchange_key: equal steps and messages have equal keys."""

from __future__ import annotations

from typing import Any

from ...models import Event
from ..base import short, signal
from ..options import Options
from .normalization import cleaned, digest, short_hash
from .step import Step, argument_text, words
from .tool_calls import NONE, Calls, outcome

# step_key: the same step has the same key, however thoughts are worded and temporary files named.

BESIDE = words(
    "thought thoughts reasoning reason description explanation rationale comment security_risk "
    "summary timeout timeout_ms"
)
"""Arguments that say why, not what."""
THOUGHTS = words("thought thoughts reasoning")
"""Arguments that are only thought, not done."""
SHOWN = 48
MOST_THOUGHTS = 16
MOST_IN_BATCH = 32
NOTHING = short_hash("")

Batch = tuple[str, tuple[str, ...]]
State = tuple[Calls, Batch, tuple[str, ...]]
"""Calls that wait; a mark of the batch under way, and the keys it has had; marks of thoughts that came."""


@signal("step_key", range=None, version=2, kinds=("action", "result"))
class StepKey:
    """The action and its result, with what varies by chance taken out.

    Thoughts beside other arguments do not count, nor do times, ids and temporary names. Steps of one batch
    that are the same count once. A call that is nothing but a thought is no step until the thought comes
    again.
    """

    scope = "run"
    start: State = (NONE, ("", ()), ())
    max_state_bytes = 8_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[str | None, State]:
        """The key, and what is remembered."""
        calls, batch, thoughts = state
        strength = options.normalization
        step, kept, own, calls = outcome(event, calls, lambda call: _call(call, strength))
        if step is None:
            return None, (calls, batch, thoughts)
        shown, mark, is_thought = kept
        if is_thought and mark not in thoughts:
            # To think of something is not to have got anywhere.
            return None, (calls, batch, (*thoughts, mark)[-MOST_THOUGHTS:])
        told = _result(step, strength) if step.is_outcome else "-"
        key = f"{shown} #{short_hash(mark + told)}"
        keys = batch[1] if own == batch[0] else ()
        again = key in keys
        batch = (own, keys if again else (*keys, key)[-MOST_IN_BATCH:])
        return (None if again else key), (calls, batch, thoughts)


def _call(step: Step, strength: str) -> tuple[str, str, bool]:
    """What is shown of a call, a mark of all of it, and whether it is nothing but a thought."""
    # Where a tool takes nothing but what is left out otherwise, that is what it does.
    beside = frozenset[str]() if BESIDE.issuperset(step.arguments) else BESIDE
    said = argument_text(step.arguments, beside) if step.arguments else f"{step.command} {step.path}"
    hint = step.command or step.path or said
    shown = cleaned(f"{step.tool} {hint[: 2 * SHOWN]}", strength)[:SHOWN].strip()
    is_thought = bool(step.arguments) and THOUGHTS.issuperset(step.arguments)
    return shown or "step", digest(f"{step.tool}\n{said}", strength), is_thought


def _result(step: Step, strength: str) -> Any:
    # Of a result that is not told in full, how long it was says something of the rest.
    more = step.length if step.length > len(step.result) else 0
    error = digest(step.error, strength) if step.error else NOTHING
    return f"{digest(step.result, strength)} {step.exit_code} {error} {more}"


# talk_key: what an agent says without doing anything.

SHORTEST = 12
"""Characters; less is said again by anybody."""
TALK_SHOWN = 40


@signal("talk_key", range=None, kinds=("message", "condensation"))
def talk_key(event: Event, options: Options) -> str | None:
    """What an agent says without acting, or that its memory was condensed; the same words have the same key.

    Absent for people, and for messages that do not say that an assistant wrote them.
    """
    if event.kind == "condensation":
        return "condensation"
    if event.kind != "message" or event.attributes.get("role") != "assistant" or event.text is None:
        return None
    said = event.text.strip()
    if len(said) < SHORTEST:
        return None
    mark = digest(said[:20_000].casefold(), options.normalization)
    return f"{' '.join(said[: 2 * TALK_SHOWN].split())[:TALK_SHOWN]} #{mark}"


# exchange_key: what was heard and what was answered, so that talk in circles between agents can be seen.

EXCHANGE_SHOWN = 40

Said = tuple[str, str]
"""Who, and a digest of what."""
ExchangeKeyState = tuple[Said, Said] | None
"""The newest message of the thread, and the newest one before it by anybody else."""


@signal("exchange_key", range=None, kinds=("message",))
class ExchangeKey:
    """The message together with the one by somebody else that it follows; the same words, the same key.

    Absent outside a thread, and at its first message.
    """

    scope = "thread"
    start: ExchangeKeyState = None
    max_state_bytes = 1_000

    def measure(self, event: Event, state: ExchangeKeyState) -> tuple[str | None, ExchangeKeyState]:
        """The key, and what the thread has heard by now."""
        if event.text is None or not event.text.strip():
            return None, state
        who, said = short(event.subject), digest(event.text[:20_000].casefold())
        own: Said = (who, said)
        if state is None:
            return None, (own, ("", ""))
        newest, other = state
        heard = newest if newest[0] != who else other
        key = (
            f"{' '.join(event.text[: 2 * EXCHANGE_SHOWN].split())[:EXCHANGE_SHOWN]} #{said}/{heard[1]}"
            if heard[0]
            else None
        )
        return key, (own, heard)
