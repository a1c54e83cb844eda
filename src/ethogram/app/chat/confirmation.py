"""Asks an evaluator whether a turn asks for harm, before the conversation is SUSPECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...config import Settings
from ...errors import BadUsage, EvaluatorStopped
from ...models.timestamps import SECOND

if TYPE_CHECKING:
    from ...evaluators.base import Evaluator
    from ...evaluators.llm import LanguageModel

MOST_TURNS = 10  # newest turns that the evaluator is shown, of both sides
CONFIRMS = 0.5  # certainty from which a turn counts as asking for harm
CONFIRMED, NOT_CONFIRMED = "confirmed", "not confirmed"
WAIT = 3.0  # seconds
OVER_BUDGET = "the budget does not cover another question"


@dataclass(frozen=True, slots=True)
class Spending:
    """Questions to an evaluator and their cost in dollars, None where no price is known."""

    questions: int = 0
    dollars: float | None = 0.0

    def plus(self, other: Spending) -> Spending:
        """Both together."""
        known = self.dollars is not None and other.dollars is not None
        dollars = (self.dollars or 0.0) + (other.dollars or 0.0) if known else None
        return Spending(self.questions + other.questions, dollars)


class Confirmer:
    """An evaluator and its budget in dollars; may serve several conversations.

    `wait` is for how many seconds a question that failed is sent again.
    """

    def __init__(self, evaluator: LanguageModel, budget: float | None = None, wait: float = WAIT) -> None:
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, (int, float))):
            raise BadUsage(f"invalid budget {budget!r:.40}: expected dollars")
        if budget is not None and evaluator.worst_confirmation([("user", "")]) is None:
            raise BadUsage(f"budget: no price is known for {evaluator.scorer}: expected the option price")
        self._evaluator, self._budget, self._wait, self.spent = evaluator, budget, wait, 0.0
        self._lock = Lock()

    def ask(self, turns: Sequence[tuple[str, str]]) -> tuple[str, Spending]:
        """`confirmed`, `not confirmed`, or `unconfirmed` and why, and the cost; turns are (role, text)."""
        from ...evaluators.base import NotMeasured

        worst = self._evaluator.worst_confirmation(turns) or 0.0
        with self._lock:
            if self._budget is not None and self.spent + worst > self._budget:
                return f"unconfirmed: {OVER_BUDGET}", Spending()
            self.spent += worst
        cost: float | None = worst
        try:
            answer = self._evaluator.confirm(turns, self._wait)
            cost = answer.spent if isinstance(answer, NotMeasured) else answer.cost
        except EvaluatorStopped as error:
            answer, cost = NotMeasured(str(error)), error.spent
        finally:
            with self._lock:
                self.spent += (cost or 0.0) - worst
        if isinstance(answer, NotMeasured):
            return f"unconfirmed: {answer.reason}", Spending(1, cost)
        return CONFIRMED if answer.certainty >= CONFIRMS else NOT_CONFIRMED, Spending(1, cost)


def confirmer_of(
    evaluator: Evaluator | Confirmer | str | None, budget: float | None, settings: Settings
) -> Confirmer | None:
    """What confirms harm, None for no evaluator; BadUsage for one that cannot."""
    if isinstance(evaluator, Confirmer):
        return evaluator
    if evaluator is None:
        if budget is not None:
            raise BadUsage("budget needs an evaluator")
        return None
    # Imported here: most conversations have none.
    from ...evaluators.llm import LanguageModel

    if isinstance(evaluator, str):
        from ..evaluation.scoring import evaluator_of

        made = evaluator_of(settings, evaluator)
    else:
        made = evaluator
    if not isinstance(made, LanguageModel):
        name: Any = getattr(made, "name", None) or made
        raise BadUsage(f"the evaluator {name!r:.40} cannot confirm a request: expected anthropic or openai")
    wait = settings.conversation.get("evaluator_wait", WAIT * SECOND) / SECOND
    return Confirmer(made, budget, wait)
