"""Options that several commands share, and what commands make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from .errors import warn, write_faults
from .help import Argument, Option

if TYPE_CHECKING:
    from datetime import datetime

    from ..app.evaluation.scoring import Evaluate
    from ..config import Loaded, Settings
    from ..ingest import Batch, Gathered, OnDisk
    from ..models.mute import Mute
    from ..patterns.library import Library
    from ..store import Store
    from .output import Progress


FAIL = 3
"""Exit code where something at or above --fail-on was found."""
NONE: list[str] = []
"""Default of options that may be repeated; commands get a list of their own."""


def opt(
    help_text: str, *names: str, metavar: str | None = None, panel: str | None = None, **more: Any
) -> Any:
    """An option with its help and the panel of the help that shows it; `min` and `max` limit numbers.

    Without names it is called like the parameter.
    """
    return partial(Option, names, panel, help=help_text, metavar=metavar, **more)


def arg(help_text: str, metavar: str | None = None) -> Any:
    """An argument with its help."""
    return partial(Argument, help_text, metavar)


def _not_empty(context: click.Context, param: click.Parameter, value: str) -> str:
    # Only what was written on the command line: not given is empty too.
    origin = context.get_parameter_source(param.name or "")
    if origin is not None and origin.name == "COMMANDLINE" and not value.strip():
        raise click.BadParameter("must not be empty", ctx=context, param_hint=f"--{param.name}")
    return value


# --- input and output -----------------------------------------------------------------------

INPUT, OUTPUT, RUNS, SCORING, ADVANCED = "Input", "Output", "Agent runs", "Scoring", "Advanced"

Paths = Annotated[list[str], arg("Read these files or folders; - is standard input.", "PATH")]
AsJson = Annotated[bool, opt("Print JSON records, one a line.", "--json")]
Patterns = Annotated[
    list[str], opt("Use these patterns: name, glob, file or folder.", "--patterns", metavar="SELECTOR")
]
AsOf = Annotated[str, opt("Evaluate as of this time (default: newest event).", metavar="TIME")]
AsOfNow = Annotated[str, opt("Evaluate as of this time (default: now).", "--as-of", metavar="TIME")]
FailOn = Annotated[str, opt("Exit with 3 on detections at or above SEVERITY.", metavar="SEVERITY")]
Html = Annotated[str, opt("Also write an HTML report.", metavar="FILE")]
Verbose = Annotated[bool, opt("Show all detections, evidence and checked patterns.", "--verbose", "-v")]
Config = Annotated[str, opt("Read settings from FILE (default: ethogram.yaml).", metavar="FILE")]
SkipBad = Annotated[bool, opt("Skip invalid lines and report them.", "--skip-bad")]
Excerpts = Annotated[bool, opt("Include masked excerpts of texts in JSON and HTML.", "--excerpts")]
Source = Annotated[
    str, opt("Name the source of events without one.", metavar="NAME", panel=INPUT, callback=_not_empty)
]
FromSource = Annotated[str, opt("Select one source.", "--source", metavar="NAME", callback=_not_empty)]
Scorers = Annotated[
    list[str], opt("Use readings of this scorer.", "--scorer", metavar="[SIGNAL=]SCORER", panel=INPUT)
]
Parameters = Annotated[
    list[str],
    opt("Override a pattern parameter.", "--set", metavar="PATTERN.PARAMETER=NUMBER", panel=ADVANCED),
]

Task = Annotated[str, opt("State what the agent was asked to do.", metavar="TEXT", panel=RUNS)]
Goal = Annotated[str, opt("State what the agent's actions should serve.", metavar="TEXT", panel=RUNS)]
Allow = Annotated[list[str], opt("Allow these paths.", "--allow", metavar="GLOB", panel=RUNS)]
Deny = Annotated[list[str], opt("Deny these paths.", "--deny", metavar="GLOB", panel=RUNS)]
Cwd = Annotated[str, opt("Resolve relative paths from FOLDER.", metavar="FOLDER", panel=RUNS)]

# --- stores and people ----------------------------------------------------------------------

StoreUrl = Annotated[str, opt("Use this store: a path or sqlite:///path.", "--store", metavar="URL")]
UsageStore = Annotated[str, opt("Use this store of usage.", "--store", metavar="FILE")]
KeyFile = Annotated[
    str, opt("Read the pseudonym key (default: $ETHOGRAM_USAGE_KEY_FILE).", "--key", metavar="FILE")
]
Why = Annotated[str, opt("Record why you look, in the audit.", "--why", metavar="TEXT")]
Who = Annotated[str, opt("Record who looks (default: your user name).", "--who", metavar="NAME")]
By = Annotated[str, opt("Name the judge (default: your user name).", "--by", metavar="NAME")]
IsPseudonym = Annotated[bool, opt("Take the subject as a pseudonym of the store.", "--pseudonym")]
Redact = Annotated[bool, opt("Replace the subject's id where others mention it.", "--redact")]
PatternName = Annotated[str, arg("Select one pattern (default: all).", "[PATTERN]")]

# --- scoring --------------------------------------------------------------------------------

EvaluatorName = Annotated[
    str, opt("Score flagged messages first: local, openai, ...", metavar="NAME", panel=SCORING)
]
EvaluatorOption = Annotated[
    list[str], opt("Set an option of the evaluator.", "--option", metavar="NAME=VALUE", panel=SCORING)
]
Budget = Annotated[
    float | None, opt("Stop before spending more than this.", min=0.0, metavar="DOLLARS", panel=SCORING)
]
Sample = Annotated[
    float | None,
    opt("Also score this share of unflagged messages.", min=0.0, max=1.0, metavar="SHARE", panel=SCORING),
]
SampleBy = Annotated[str, opt("Sample by message or subject.", metavar="WHAT", panel=SCORING)]
InBatches = Annotated[bool, opt("Use the batch API: cheaper, within a day.", "--batch", panel=SCORING)]
AnswersFile = Annotated[
    str, opt("Keep paid answers in FILE and reuse them.", "--answers", metavar="FILE", panel=SCORING)
]


def run_context(task: str, goal: str, allow: Sequence[str], deny: Sequence[str], cwd: str) -> dict[str, Any]:
    """The settings that describe a run; what was not given is left out.

    >>> run_context("fix the parser", "", ["src/**"], [], "")
    {'goal': 'fix the parser', 'allow': ['src/**']}
    """
    text = "\n".join(part for part in (task, goal) if part.strip())
    options = {"goal": text, "allow": list(allow), "deny": list(deny), "cwd": cwd}
    return {name: value for name, value in options.items() if value}


@dataclass(frozen=True, slots=True)
class InputOptions:
    """What was given on the command line, as it was given; empty means not given."""

    paths: Sequence[str] = ()
    as_of: str = ""
    config: str = ""
    source: str = ""
    skip_bad: bool = False
    scorers: Sequence[str] = ()
    parameters: Sequence[str] = ()
    fail_on: str = ""
    as_json: bool = False
    context: Mapping[str, Any] = field(default_factory=dict)
    """The description of a run; see `run_context`."""

    def __post_init__(self) -> None:
        import sys

        from ..errors import BadUsage

        if "-" in self.paths and sys.stdin is None:
            raise BadUsage("-: standard input is closed; send events into it, or name a file")

    def settings(self) -> Settings:
        """The settings from file, environment and these options."""
        return self.loaded().settings

    def mutes(self, loaded: Loaded, *, untrusted: bool = False) -> tuple[Mute, ...]:
        """The entries of the mutes file; those of an untrusted one only with `untrusted`."""
        entries, warning = loaded.read_mutes()
        if warning:
            does = "what it mutes is shown as such", "ignored, it mutes nothing here"
            warn(warning if untrusted else warning.replace(*does), as_json=self.as_json)
        return tuple(entry for entry in entries if untrusted or not entry.untrusted)

    def loaded(self) -> Loaded:
        """The settings, and where they come from."""
        overrides = {
            "source": self.source or None,
            "fail_on": self.fail_on or None,
            "scorers": scorers_of(self.scorers) or None,
            "parameters": parameters_of(self.parameters) or None,
            **self.context,
        }
        return load_config(self.config, overrides, as_json=self.as_json)

    def moment(self) -> datetime | None:
        """The time of --as-of, if given."""
        return moment(self.as_of, "--as-of")

    def read(self, library: Library, settings: Settings, progress: Progress) -> Batch:
        """The events; skipped lines are listed on standard error."""
        from ..ingest import read_events

        batch = read_events(self.paths, **self._reading(library, settings, progress))
        progress.stop()
        self.report_bad(batch)
        return batch

    def gather(self, library: Library, settings: Settings, progress: Progress) -> Batch | OnDisk:
        """The same, on disk where there are too many events for memory."""
        from ..ingest import gather_events

        reading = self._reading(library, settings, progress)
        gathered = gather_events(self.paths, memory=settings.memory, **reading)
        progress.stop()
        self.report_bad(gathered)
        return gathered

    def _reading(self, library: Library, settings: Settings, progress: Progress) -> dict[str, Any]:
        from ..ingest import Limits
        from ..patterns.catalogue import known_ranges

        return {
            "source": settings.source,
            "skip_bad": self.skip_bad,
            "kinds": library.kinds,
            "ranges": known_ranges(),
            "limits": Limits(**settings.limits),
            "latest": latest_of(settings),
            "progress": progress.read,
        }

    def report_bad(self, batch: Gathered) -> None:
        """List skipped lines on standard error."""
        from ..errors import BadEvents

        skipped = BadEvents(batch.bad, more=batch.bad_count - len(batch.bad))
        write_faults(skipped, as_json=self.as_json, prefix="")


def latest_of(settings: Settings) -> datetime | None:
    """The latest time an event may have, by the machine's clock."""
    from ..ingest.collector import latest_time

    return latest_time(now(), settings.max_future)


def load_config(config: str, overrides: Mapping[str, Any] | None = None, *, as_json: bool = False) -> Loaded:
    """The settings of a file, or of the usual ones, with their signal names checked.

    What is refused of an untrusted file goes to standard error.
    """
    from ..config import load_settings
    from ..patterns.settings_check import check_names

    loaded = load_settings(config or None, overrides=overrides)
    for line in loaded.warnings:
        warn(line, as_json=as_json)
    check_names(loaded)
    return loaded


def scorers_of(texts: Sequence[str]) -> dict[str, str]:
    """Signal to scorer; a scorer alone stands for every signal not named.

    >>> scorers_of(["rubric-2", "compassion=local@3"])
    {'*': 'rubric-2', 'compassion': 'local@3'}
    """
    from ..errors import BadUsage

    scorers: dict[str, str] = {}
    for text in texts:
        signal, scorer = text.split("=", 1) if "=" in text else ("*", text)
        if not signal.strip() or not scorer.strip():
            raise BadUsage(
                f"invalid --scorer {text!r:.80}: expected SCORER or SIGNAL=SCORER, like compassion=rubric-2"
            )
        scorers[signal.strip()] = scorer.strip()
    return scorers


def parameters_of(texts: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Pattern to parameter to number.

    >>> parameters_of(["love_bombing.warmth=0.3"])
    {'love_bombing': {'warmth': 0.3}}
    """
    from ..errors import BadUsage

    parameters: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        pattern, dot, parameter = name.strip().rpartition(".")
        try:
            number = float(value)
        except ValueError:
            number = None
        if not (equals and dot and pattern and parameter) or number is None:
            raise BadUsage(
                f"invalid --set {text!r:.80}: expected PATTERN.PARAMETER=NUMBER, like loop.threshold=4"
            )
        parameters.setdefault(pattern, {})[parameter] = number
    return parameters


# --- times ----------------------------------------------------------------------------------


def now() -> datetime:
    """The current time; the only place where commands look at the clock."""
    from datetime import UTC, datetime

    return datetime.now(UTC)


def moment(text: str, option: str) -> datetime | None:
    """The time an option names, if given."""
    from ..errors import BadUsage
    from ..models import parse_time

    try:
        return parse_time(text) if text else None
    except ValueError as error:
        raise BadUsage(f"{option}: {error}") from None


def seconds_of(text: str, option: str) -> float | None:
    """The seconds of a duration such as 90d, if given."""
    from ..errors import BadUsage
    from ..models import parse_duration

    try:
        return parse_duration(text) / 1e6 if text else None
    except (ValueError, OverflowError) as error:
        raise BadUsage(f"{option}: {error}") from None


# --- who looks at whom ----------------------------------------------------------------------


def user_name() -> str:
    """Who runs the command, as far as the system knows."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def whom(subject: str, is_pseudonym: bool) -> str:
    """The subject, as stores take it."""
    from ..usage.pseudonym import Pseudonym

    return Pseudonym(subject) if is_pseudonym else subject


def note_all(store: Store, action: str) -> None:
    """Record in a private store that somebody looked at everybody."""
    from ..app.stored_events import note_looks

    note_looks(store, action, [None], at=now(), who=user_name())


def path_of(store: str) -> Path:
    """The file that --store names, as a path or a URL."""
    from ..errors import BadUsage

    if not store:
        raise BadUsage("missing --store: expected a path, like usage.db")
    if "://" not in store:
        return Path(store)
    from ..store.sqlite import parse

    return parse(store)[0]


# --- evaluators -----------------------------------------------------------------------------

TEXTS = ("model", "base_url", "key_env", "file")
"""Options that are texts, also where they look like a number."""


@dataclass(frozen=True, slots=True)
class EvaluatorOptions:
    """What was given on the command line about scoring; empty means not given."""

    name: str = ""
    options: Sequence[str] = ()
    budget: float | None = None
    sample: float | None = None
    sample_by: str = ""
    in_batches: bool = False
    answers: str = ""

    def make(self, settings: Settings, library: Library | None, progress: Progress) -> Evaluate | None:
        """The evaluator and how it is asked; None where none is named."""
        from dataclasses import replace

        if not (self.name or settings.evaluator or settings.evaluators):
            self._refuse_the_rest()
            return None  # before anything is loaded that scores
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

        def report(done: int, total: int, spent: float) -> None:
            of = f" of {total:,}" if total else ""
            cost = f", ${spent:.4f} so far" if evaluator.paid else ""
            progress.count(done, total, f"{evaluator.name}: {done:,}{of} messages{cost}")

        return Evaluate(evaluator, sampling, paying, report)

    def _by(self) -> str:
        from ..errors import BadUsage, did_you_mean

        if self.sample_by not in ("", "message", "subject"):
            near = did_you_mean(self.sample_by, ("message", "subject"))
            raise BadUsage(f"invalid --sample-by {self.sample_by!r:.40}: expected message or subject{near}")
        return self.sample_by

    def _refuse_the_rest(self) -> None:
        from ..errors import BadUsage

        options = {
            "--option": self.options,
            "--budget": self.budget,
            "--sample": self.sample,
            "--sample-by": self.sample_by,
            "--batch": self.in_batches,
            "--answers": self.answers,
        }
        if named := [name for name, value in options.items() if value not in ("", None, False, [], ())]:
            raise BadUsage(f"{named[0]} needs --evaluator")


def options_of(texts: Sequence[str]) -> dict[str, Any]:
    """Option to value; numbers, true and false are taken as such, and a dot leads into a mapping.

    >>> options_of(["model=small", "timeout=20", "price.input=0.5"])
    {'model': 'small', 'timeout': 20, 'price': {'input': 0.5}}
    >>> options_of(["model=3", "price={input: 0.5, output: 2}"])
    {'model': '3', 'price': {'input': 0.5, 'output': 2}}
    """
    from ..errors import BadUsage

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
