"""local: a small model that needs no key and no network (docs/model_card.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import BadUsage
from .base import Answer, Evaluation, Evaluator, NotMeasured, Options, Question, evaluator

if TYPE_CHECKING:
    from .local_model import Weights

LEAST_WORDS = 3
UNKNOWN_LANGUAGE = NotMeasured("the text is in no language that the lexicon knows", final=True)
TOO_SHORT = NotMeasured(f"the text has fewer than {LEAST_WORDS} words", final=True)


@evaluator("local")
class Local(Evaluator):
    """A small model on this machine that goes by the words of the message; costs nothing.

    A message's thread and its author are not looked at. Not measured, since a bag of words does as well:
    goodwill, accuracy, reasoning and broken_logic.
    """

    name = "local"
    needs = "nothing"
    scorer = "local@2"

    def __init__(self, options: Options | None = None) -> None:
        for name in options or {}:
            raise BadUsage(f"the evaluator local has no option {name!r}")
        self._weights: Weights | None = None

    @property
    def weights(self) -> Weights:
        """The shipped weights, loaded when first needed; NumPy is imported with them."""
        if self._weights is None:
            from .local_model import shipped

            self._weights = shipped()
        return self._weights

    def evaluate(self, question: Question) -> Answer:
        """The traits that the model measures, and the indicators of phrases in the text."""
        from .local_model import find_indicators, read_text, scores

        if not question.scan.measured:
            return UNKNOWN_LANGUAGE
        read = read_text(question.text)
        if read.length < LEAST_WORDS:
            return TOO_SHORT
        traits = scores(self.weights, read, question.scan)
        return Evaluation(traits, find_indicators(self.weights, question.scan, traits), self.scorer, width=0)
