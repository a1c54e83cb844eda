"""talk_key: what an agent says without doing anything."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .options import Options
from .steps.volatile import digest

SHORTEST = 12
"""Characters; less is said again by anybody."""
SHOWN = 40


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
    return f"{' '.join(said[: 2 * SHOWN].split())[:SHOWN]} #{mark}"
