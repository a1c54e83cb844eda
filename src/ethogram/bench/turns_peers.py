"""What following a conversation is measured against: formulas over the whole history at every turn."""

from __future__ import annotations

from ..modes.talks import Talk, Turn
from ..modes.validate_conversations_fixed import fixed_scores, parapet


class WholeHistory:
    """Keeps every turn, and scores all of them again when one is added."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def keep(self, text: str) -> None:
        """Keep a turn and score nothing."""
        self._turns.append(Turn(text, True, {}))

    def turn(self, text: str) -> float:
        """The higher of the fixed formulas and of peak plus persistence, over all turns so far."""
        self.keep(text)
        talk = Talk("", None, tuple(self._turns))
        return max(fixed_scores(talk)["fixed_formulas"], parapet(talk))
