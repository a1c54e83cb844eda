"""Steps and errors as people read them, masked and short; the signal action_text."""

from __future__ import annotations

from functools import lru_cache

from ...models import Event
from ..base import signal
from .step import Call, Step

MAX_SHOWN = 120
"""Characters shown of an action, an error or a message."""


@lru_cache(maxsize=1024)  # steps repeat themselves
def excerpt(text: str, size: int = MAX_SHOWN) -> str:
    """Return a text on one line, masked before it is cut: half a secret looks like a word."""
    # Imported here: its rules are large, and most who measure signals never need them.
    from ...models.redaction import mask

    shown = " ".join(mask(text).split())
    return shown if len(shown) <= size else shown[: size - 1] + "…"


def shown_call(step: Step) -> str:
    """Return the tool with its command, path or arguments, masked and short."""
    text = step.command or step.path
    if not text:
        pairs = [f"{name}={v}" for name, v in step.arguments.items() if isinstance(v, (str, int, float))]
        text = " ".join(pair[: MAX_SHOWN * 4] for pair in pairs[:6])
    tool = step.tool[:MAX_SHOWN].strip()
    # Some formats have the tool as the first word of the command.
    return excerpt(text if text.startswith(tool) else f"{tool} {text}") or tool or "an action"


@signal("action_text", range=None, kinds=("action", "result"), summarize=shown_call)
def action_text(event: Event, call: Call) -> str | None:
    """The tool and its command, path or arguments, without secrets and personal data; 120 characters."""
    step, shown, _ = call
    return None if step is None else str(shown)
