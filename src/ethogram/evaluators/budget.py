"""Budget: what may be spent, what was, and what those still under way may come to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """Dollars. A question is asked only where its worst case still fits beside those under way."""

    limit: float | None = None
    spent: float = 0.0
    held: float = 0.0

    def fits(self, worst: float) -> bool:
        """Whether a question that may cost so much can be asked now."""
        return self.limit is None or self.spent + self.held + worst <= self.limit + 1e-12

    def never_fits(self, worst: float) -> bool:
        """Whether it could not be asked even if nothing else were under way."""
        return self.limit is not None and self.spent + worst > self.limit + 1e-12

    def hold(self, worst: float) -> None:
        """Set aside what a question may cost."""
        self.held += worst

    def settle(self, worst: float, cost: float) -> None:
        """The answer is there: what it did cost takes the place of what it might have."""
        self.held = max(0.0, self.held - worst)
        self.spent += cost
