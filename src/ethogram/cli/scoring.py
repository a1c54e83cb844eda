"""Options of commands that score messages, and the evaluator that they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import BadUsage
from .options import SCORING, check_word, opt

if TYPE_CHECKING:
    from ..app.evaluation.scoring import Evaluate
    from ..config import Settings
    from ..patterns.library import Library
    from .output import Progress

Budget = Annotated[
    float | None, opt("Stop before spending more than this.", min=0.0, metavar="DOLLARS", panel=SCORING)
]
Sample = Annotated[
    float | None,
    opt("Also score this share of unflagged messages.", min=0.0, max=1.0, metavar="SHARE", panel=SCORING),
]
AnswersFile = Annotated[
    str, opt("Keep paid answers in FILE and reuse them.", "--answers", metavar="FILE", panel=SCORING)
]

TEXTS = ("model", "base_url", "key_env", "file")
"""Options that are texts, also where they look like a number."""


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """How messages are scored; empty means not given."""

    option: Annotated[
        Sequence[str], opt("Set an option of the evaluator.", "--option", metavar="NAME=VALUE", panel=SCORING)
    ] = ()
    budget: Budget = None
    batch: Annotated[bool, opt("Use the batch API: cheaper, within a day.", "--batch", panel=SCORING)] = False
    sample: Sample = None
    sample_by: Annotated[str, opt("Sample by message or subject.", metavar="WHAT", panel=SCORING)] = ""
    answers: AnswersFile = ""

    def make(self, name: str, settings: Settings, library: Library, progress: Progress) -> Evaluate | None:
        """The evaluator of that name, or of the settings, and how it is asked; None where none is named."""
        if not (name or settings.evaluator or settings.evaluators):
            self._refuse_the_rest()
            return None  # before anything is loaded that scores
        from ..app.evaluation.questions import Sampling, sampling_for
        from ..app.evaluation.scoring import Evaluate, evaluator_of, paying_for

        if self.answers:
            settings = replace(settings, answers=self.answers)
        evaluator = evaluator_of(settings, name or None, options_of(self.option))
        if evaluator is None:
            self._refuse_the_rest()
            return None
        usual = sampling_for(evaluator)
        if self.sample_by:
            check_word("--sample-by", self.sample_by, ("message", "subject"))
        share = usual.share if self.sample is None else self.sample
        sampling = Sampling(share, self.sample_by or usual.by)
        paying = paying_for(evaluator, settings, library, budget=self.budget, in_batches=self.batch)

        def report(done: int, total: int, spent: float) -> None:
            of = f" of {total:,}" if total else ""
            cost = f", ${spent:.4f} so far" if evaluator.paid else ""
            progress.count(done, total, f"{evaluator.name}: {done:,}{of} messages{cost}")

        return Evaluate(evaluator, sampling, paying, report)

    def less(self, spent: float) -> ScoringOptions:
        """The same, with what was spent taken from the budget."""
        return self if self.budget is None else replace(self, budget=max(0.0, self.budget - spent))

    def _refuse_the_rest(self) -> None:
        for name in ("option", "budget", "sample", "sample_by", "batch", "answers"):
            if getattr(self, name) not in ("", None, False, [], ()):
                raise BadUsage(f"--{name.replace('_', '-')} needs --evaluator")


NO_SCORING = ScoringOptions()


def options_of(texts: Sequence[str]) -> dict[str, Any]:
    """Option to value; numbers, true and false are taken as such, and a dot leads into a mapping.

    >>> options_of(["model=small", "timeout=20", "price.input=0.5"])
    {'model': 'small', 'timeout': 20, 'price': {'input': 0.5}}
    >>> options_of(["model=3", "price={input: 0.5, output: 2}"])
    {'model': '3', 'price': {'input': 0.5, 'output': 2}}
    """
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        first, dot, rest = name.strip().partition(".")
        if not (equals and first) or (dot and not rest):
            raise BadUsage(
                f"invalid --option {text.partition('=')[0]!r:.40}: expected NAME=VALUE, like model=small"
            )
        name, value = name.strip(), value.strip()
        if not value:
            raise BadUsage(f"--option {name:.40} has no value: expected {name:.40}=VALUE")
        if not dot:
            options[first] = _value(name, value)
        elif isinstance(options.setdefault(first, {}), dict):
            options[first][rest] = _value(name, value)
        else:
            raise BadUsage(f"--option {first:.40} has a value already: {name:.40} is a part of it")
    return options


def _value(name: str, text: str) -> Any:
    from ..language.yaml_source import plain, read_yaml

    if name in TEXTS:
        return text
    if text.startswith("{"):
        return plain(read_yaml(text, f"--option {name:.40}", BadUsage))
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
