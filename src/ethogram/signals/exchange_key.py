"""exchange_key: what was heard and what was answered, so that talk in circles between agents can be seen."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .names import short
from .steps.volatile import digest

SHOWN = 40

Said = tuple[str, str]
"""Who, and a digest of what."""
State = tuple[Said, Said] | None
"""The newest message of the thread, and the newest one before it by anybody else."""


@signal("exchange_key", range=None, kinds=("message",))
class ExchangeKey:
    """The message together with the one by somebody else that it follows; the same words, the same key.

    Absent outside a thread, and at its first message.
    """

    scope = "thread"
    start: State = None
    max_state_bytes = 1_000

    def measure(self, event: Event, state: State) -> tuple[str | None, State]:
        """The key, and what the thread has heard by now."""
        if event.text is None or not event.text.strip():
            return None, state
        who, said = short(event.subject), digest(event.text[:20_000].casefold())
        own: Said = (who, said)
        if state is None:
            return None, (own, ("", ""))
        newest, other = state
        heard = newest if newest[0] != who else other
        key = f"{' '.join(event.text[: 2 * SHOWN].split())[:SHOWN]} #{said}/{heard[1]}" if heard[0] else None
        return key, (own, heard)
