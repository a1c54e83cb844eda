"""The options that say who scores messages, and how: the same for every command that asks somebody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..app.evaluation.scoring import Evaluate
    from ..config import Settings
    from ..patterns.library import Library
    from .progress import Progress


Options = Annotated[
    list[str],
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the evaluator; repeatable."),
]
Budget = Annotated[
    float | None,
    typer.Option(min=0.0, metavar="DOLLARS", help="Stop before this run has spent more; it can go on later."),
]
Sample = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, metavar="SHARE", help="How much without a flag is scored too."),
]
SampleBy = Annotated[
    str, typer.Option(metavar="WHAT", help="What is sampled: message, or subject with all its messages.")
]
InBatches = Annotated[
    bool, typer.Option("--batch", help="Ask in batches: cheaper, answered within a day; anthropic only.")
]
AnswersFile = Annotated[
    str,
    typer.Option(
        "--answers", metavar="FILE", help="Where paid answers are kept, so that none is paid twice."
    ),
]


TEXTS = ("model", "base_url", "key_env", "file")
"""Options that are texts, also where they look like a number."""


@dataclass(frozen=True, slots=True)
class AskedEvaluator:
    """What was given on the command line; empty means not given."""

    name: str = ""
    options: Sequence[str] = ()
    budget: float | None = None
    sample: float | None = None
    sample_by: str = ""
    in_batches: bool = False
    answers: str = ""

    def make(self, settings: Settings, library: Library | None, progress: Progress) -> Evaluate | None:
        """The evaluator and how it is asked; None where nobody is."""
        from dataclasses import replace

        from ..app.evaluation.questions import Sampling, sampling_for
        from ..app.evaluation.scoring import Evaluate, evaluator_of, paying_for

        if self.answers:
            settings = replace(settings, answers=self.answers)
        evaluator = evaluator_of(settings, self.name or None, options_of(self.options))
        if evaluator is None:
            self._refuse_the_rest()
            return None
        usual = sampling_for(evaluator)
        sampling = Sampling(usual.share if self.sample is None else self.sample, self._by() or usual.by)
        paying = paying_for(evaluator, settings, library, budget=self.budget, in_batches=self.in_batches)

        def tell(done: int, total: int, spent: float) -> None:
            of = f" of {total:,}" if total else ""
            cost = f", ${spent:.4f} so far" if evaluator.paid else ""
            progress.count(done, total, f"{evaluator.name}: {done:,}{of} messages{cost}")

        return Evaluate(evaluator, sampling, paying, tell)

    def _by(self) -> str:
        from ..errors import BadUsage, did_you_mean

        if self.sample_by not in ("", "message", "subject"):
            near = did_you_mean(self.sample_by, ("message", "subject"))
            raise BadUsage(f"--sample-by takes message or subject; here is {self.sample_by!r:.40}{near}")
        return self.sample_by

    def _refuse_the_rest(self) -> None:
        from ..errors import BadUsage

        given = {
            "--option": self.options,
            "--budget": self.budget,
            "--sample": self.sample,
            "--sample-by": self.sample_by,
            "--batch": self.in_batches,
            "--answers": self.answers,
        }
        if named := [name for name, value in given.items() if value not in ("", None, False, [], ())]:
            raise BadUsage(f"{named[0]} says how an evaluator is asked: name one with --evaluator")


def options_of(given: Sequence[str]) -> dict[str, Any]:
    """Option to value; numbers, true and false are taken as such, and a dot leads into a mapping.

    >>> options_of(["model=small", "timeout=20", "price.input=0.5"])
    {'model': 'small', 'timeout': 20, 'price': {'input': 0.5}}
    >>> options_of(["model=3", "price={input: 0.5, output: 2}"])
    {'model': '3', 'price': {'input': 0.5, 'output': 2}}
    """
    from ..errors import BadUsage

    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        first, dot, rest = name.strip().partition(".")
        if not (equals and first) or (dot and not rest):
            raise BadUsage(
                f"--option takes NAME=VALUE, like model=small; here is {one.partition('=')[0]!r:.40}"
            )
        name, value = name.strip(), value.strip()
        if not value:
            raise BadUsage(f"--option {name:.40} has no value; like {name:.40}=VALUE")
        if not dot:
            found[first] = _value(name, value)
        elif isinstance(found.setdefault(first, {}), dict):
            found[first][rest] = _value(name, value)
        else:
            raise BadUsage(f"--option {first:.40} is given as a value already; {name:.40} is a part of it")
    return found


def _value(name: str, text: str) -> Any:
    from ..errors import BadUsage
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
