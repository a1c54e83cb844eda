"""Options that several commands share, and what commands make of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..errors import BadEvents, BadUsage, did_you_mean
from ..models import parse_duration, parse_time
from .errors import warn, write_faults
from .help import Argument, Option

if TYPE_CHECKING:
    from ..app.result import Analysis
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
SHARES = "Scale"

Paths = Annotated[Sequence[str], arg("Read these files or folders; - is standard input.", "PATH")]
AsJson = Annotated[bool, opt("Print JSON records, one a line.", "--json")]
Patterns = Annotated[
    Sequence[str], opt("Use these patterns: name, glob, file or folder.", "--patterns", metavar="SELECTOR")
]
AsOf = Annotated[str, opt("Evaluate as of this time (default: newest event).", metavar="TIME")]
AsOfNow = Annotated[str, opt("Evaluate as of this time (default: now).", "--as-of", metavar="TIME")]
FailOn = Annotated[str, opt("Exit with 3 on detections at or above SEVERITY.", metavar="SEVERITY")]
Html = Annotated[str, opt("Also write an HTML report.", metavar="FILE")]
Verbose = Annotated[bool, opt("Show all detections, evidence and checked patterns.", "--verbose", "-v")]
Config = Annotated[str, opt("Read settings from FILE (default: ethogram.yaml).", metavar="FILE")]
Formats = Annotated[
    list[str],
    opt("Print text, json, github, junit or markdown.", "--format", metavar="FORMAT[=FILE]", panel=OUTPUT),
]
ExitZero = Annotated[
    bool, opt("Exit with 0 whatever was found; errors still fail.", "--exit-zero", panel=OUTPUT)
]
ScoreFirst = Annotated[
    str, opt("Score flagged messages first: local, openai, ...", metavar="NAME", panel=SCORING)
]
SkipBad = Annotated[bool, opt("Skip invalid lines and report them.", "--skip-bad")]
Excerpts = Annotated[bool, opt("Include masked excerpts of texts in JSON and HTML.", "--excerpts")]
Source = Annotated[
    str, opt("Name the source of events without one.", metavar="NAME", panel=INPUT, callback=_not_empty)
]
FromSource = Annotated[str, opt("Select one source.", "--source", metavar="NAME", callback=_not_empty)]
Scorers = Annotated[
    Sequence[str], opt("Use readings of this scorer.", "--scorer", metavar="[SIGNAL=]SCORER", panel=INPUT)
]
Jobs = Annotated[int | None, opt("Use N processes (default: all cores).", min=1, metavar="N", panel=SHARES)]
Parameters = Annotated[
    Sequence[str],
    opt("Override a pattern parameter.", "--set", metavar="PATTERN.PARAMETER=NUMBER", panel=ADVANCED),
]


def _load_plugins(context: click.Context, param: click.Parameter, value: Sequence[str]) -> Sequence[str]:
    from .. import registry

    for path in value:
        registry.load_file(path)
    return value


Plugins = Annotated[
    Sequence[str],
    opt(
        "Load signals, evaluators or patterns from a Python file.",
        "--plugin",
        metavar="FILE",
        panel=ADVANCED,
        callback=_load_plugins,
        is_eager=True,
    ),
]
"""Loaded when the command line is read, so commands need not look at it. No setting does the same."""

# --- stores and people ----------------------------------------------------------------------

StoreUrl = Annotated[
    str, opt("Use this store: a path, or a URL such as postgresql://...", "--store", metavar="URL")
]
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


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What describes a run of an agent.

    >>> RunOptions("fix the parser", allow=["src/**"]).settings
    {'goal': 'fix the parser', 'allow': ['src/**']}
    """

    task: Annotated[str, opt("State what the agent was asked to do.", metavar="TEXT", panel=RUNS)] = ""
    goal: Annotated[str, opt("State what the agent's actions should serve.", metavar="TEXT", panel=RUNS)] = ""
    allow: Annotated[Sequence[str], opt("Allow these paths.", "--allow", metavar="GLOB", panel=RUNS)] = ()
    deny: Annotated[Sequence[str], opt("Deny these paths.", "--deny", metavar="GLOB", panel=RUNS)] = ()
    cwd: Annotated[str, opt("Resolve relative paths from FOLDER.", metavar="FOLDER", panel=RUNS)] = ""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that they stand for; what was not given is left out."""
        text = "\n".join(part for part in (self.task, self.goal) if part.strip())
        options = {"goal": text, "allow": self.allow, "deny": self.deny, "cwd": self.cwd}
        return {name: value for name, value in options.items() if value}


NO_RUN = RunOptions()
READING = "paths! as_json skip_bad config source"
"""Options of commands that only read events."""
MATCHING = "paths! patterns as_of fail_on as_json skip_bad config source scorers run parameters plugins"
"""Options of commands that detect patterns in events."""


@dataclass(frozen=True, slots=True)
class InputOptions:
    """What commands read and how; empty means not given. A command names those that it takes (help.py)."""

    paths: Paths = ()
    as_of: AsOf = ""
    config: Config = ""
    source: Source = ""
    skip_bad: SkipBad = False
    scorers: Scorers = ()
    parameters: Parameters = ()
    fail_on: FailOn = ""
    as_json: AsJson = False
    run: RunOptions = NO_RUN
    patterns: Patterns = ()
    plugins: Plugins = ()

    def __post_init__(self) -> None:
        if "-" in self.paths and sys.stdin is None:
            raise BadUsage("-: standard input is closed; send events into it, or name a file")

    def settings(self) -> Settings:
        """The settings from file, environment and these options."""
        return self.loaded().settings

    def library(self, loaded: Loaded) -> Library:
        """The patterns of --patterns, or those that are on."""
        from ..app.analyze import load_library

        return load_library(list(self.patterns) or None, loaded)

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
            **self.run.settings,
        }
        return load_config(self.config, overrides, as_json=self.as_json)

    def moment(self) -> datetime | None:
        """The time of --as-of, if given."""
        return moment(self.as_of, "--as-of")

    def read(self, kinds: Mapping[str, str], settings: Settings, progress: Progress, **how: Any) -> Batch:
        """The events; skipped lines are listed on standard error. `kinds` are those of `read_events`.

        BadUsage where every line is skipped.
        """
        from ..ingest import Limits, read_events
        from ..patterns.catalogue import known_ranges

        batch: Batch = how.pop("reader", read_events)(
            self.paths,
            source=settings.source,
            skip_bad=self.skip_bad,
            kinds=kinds,
            ranges=known_ranges(),
            limits=Limits(**settings.limits),
            latest=latest_of(settings),
            progress=progress.read,
            **how,
        )
        progress.stop()
        self.report_bad(batch)
        if batch.bad_count and not len(batch.events):
            raise BadUsage("there are no events in this input: every line is invalid")
        return batch

    def gather(
        self, library: Library, settings: Settings, progress: Progress, *, jobs: int | None = None
    ) -> Batch | OnDisk:
        """The same; on disk where the settings allow less memory, or where several `jobs` share them."""
        from ..ingest import gather_events

        how: dict[str, Any] = {"memory": settings.memory, "jobs": jobs}
        return self.read(library.kinds, settings, progress, reader=gather_events, **how)

    def report_bad(self, batch: Gathered) -> None:
        """List skipped lines on standard error; with --json skipped files too, else the report names them."""
        skipped = BadEvents(batch.bad, more=batch.bad_count - len(batch.bad))
        write_faults(skipped, as_json=self.as_json, prefix="")
        if self.as_json and batch.not_events:
            from ..ingest.collector import NOT_EVENTS
            from ..report.wording import skipped_text

            text = skipped_text(NOT_EVENTS, batch.skipped[NOT_EVENTS], batch.not_events)
            warn(f"skipped {text}", as_json=True)

    def fail(
        self, analysis: Analysis, library: Library, batch: Gathered, fail_on: str, *, exit_zero: bool = False
    ) -> None:
        """Exit with FAIL on a detection at or above a severity; BadUsage where no pattern could be judged."""
        from ..report.coverage import check_judged

        missed = check_judged(analysis, library, batch)
        if missed and self.patterns:
            warn(f"--fail-on: these patterns could not be judged: {', '.join(missed)}", as_json=self.as_json)
        if analysis.at_or_above(fail_on) and not exit_zero:
            raise click.exceptions.Exit(FAIL)


NO_INPUT = InputOptions()


@contextmanager
def held(gathered: Batch | OnDisk) -> Iterator[None]:
    """Remove events that are on disk after the block."""
    from ..ingest import OnDisk

    with gathered if isinstance(gathered, OnDisk) else nullcontext():
        yield


@contextmanager
def stdin_copy(paths: Sequence[str], again: object) -> Iterator[None]:
    """Let standard input be read twice in the block, where it is one of the paths and `again` is set."""
    if not again or "-" not in paths:
        yield
        return
    import io
    import shutil
    import tempfile

    standard = sys.stdin
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(standard.buffer, copy)
        copy.seek(0)
        sys.stdin = io.TextIOWrapper(copy, encoding="utf-8")
        try:
            yield
        finally:
            sys.stdin.detach()
            sys.stdin = standard


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


def check_word(option: str, word: str, known: Sequence[str]) -> None:
    """BadUsage where the value of an option is not one of the known words."""
    if word not in known:
        expected = (" or " if len(known) == 2 else ", ").join(known)
        raise BadUsage(f"invalid {option} {word!r:.40}: expected {expected}{did_you_mean(word, known)}")


# --- times ----------------------------------------------------------------------------------


def now() -> datetime:
    """The current time; the only place where commands look at the clock."""
    return datetime.now(UTC)


def moment(text: str, option: str) -> datetime | None:
    """The time an option names, if given."""
    try:
        return parse_time(text) if text else None
    except ValueError as error:
        raise BadUsage(f"{option}: {error}") from None


def seconds_of(text: str, option: str) -> float | None:
    """The seconds of a duration such as 90d, if given."""
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


@dataclass(frozen=True, slots=True)
class LookOptions:
    """Who looks at a person in a private store, and why; empty means not given."""

    key: KeyFile = ""
    why: Why = ""
    who: Who = ""
    is_pseudonym: IsPseudonym = False

    def person(self, subject: str) -> str:
        """The subject, as stores take it."""
        return whom(subject, self.is_pseudonym)

    def at(self, store: Store, action: str, subject: str) -> str:
        """The name of a subject in the store; that somebody looked is recorded in a private one."""
        from ..app.stored_events import stored_name

        name = stored_name(store, self.person(subject), self.key)
        self.note(store, action, [name], subject)
        return name

    def note(self, store: Store, action: str, people: Sequence[str | None], subject: str = "") -> None:
        """Record in a private store that somebody looked at these people; `subject`: as they were named."""
        from ..app.stored_events import note_looks

        by, person = self.who or user_name(), self.person(subject) if subject else None
        note_looks(store, action, people, at=now(), who=by, why=self.why, subject=person)


NO_LOOK = LookOptions()


def note_all(store: Store, action: str) -> None:
    """Record in a private store that somebody looked at everybody."""
    from ..app.stored_events import note_looks

    note_looks(store, action, [None], at=now(), who=user_name())


def path_of(store: str) -> Path:
    """The file that --store names, as a path or a URL."""
    if not store:
        raise BadUsage("missing --store: expected a path, like usage.db")
    if "://" not in store:
        return Path(store)
    if not is_file(store):
        raise BadUsage("this needs a store in a file: expected --store with a path, like usage.db")
    from ..store.sqlite import parse

    return parse(store)[0]


def is_file(store: str) -> bool:
    """Whether --store names a file, and no server."""
    from ..store import kind_of

    return kind_of(store) == "sqlite"


def is_usage(store: str) -> bool:
    """Whether --store names a usage store."""
    from ..usage.store import is_usage_store

    return is_file(store) and is_usage_store(path_of(store))


def has_events(store: str) -> bool:
    """Whether --store is, or is also, a store of events."""
    from ..usage.store import has_events

    return not is_usage(store) or has_events(path_of(store))
