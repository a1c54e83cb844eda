"""What commands that read events have in common: their options, and reading with a progress bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from datetime import datetime

    from ..config import Loaded, Settings
    from ..ingest import Batch, Gathered, OnDisk
    from ..models.mute import Mute
    from ..patterns.library import Library
    from .progress import Progress


def _not_empty(context: typer.Context, param: typer.CallbackParam, value: str) -> str:
    # Only what was written on the command line: not given is empty too.
    given = context.get_parameter_source(param.name or "")
    if given is not None and given.name == "COMMANDLINE" and not value.strip():
        raise typer.BadParameter("must not be empty", ctx=context, param_hint=f"--{param.name}")
    return value


Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...", help="Files or folders of events; - is standard input.", show_default=False
    ),
]
AsOf = Annotated[
    str, typer.Option(metavar="TIME", help="The moment of the question; without it, the newest event.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON record a line instead of text.")]
Config = Annotated[
    str, typer.Option(metavar="FILE", help="Read settings from FILE (default: ethogram.yaml, if trusted).")
]
Source = Annotated[
    str,
    typer.Option(metavar="NAME", help="The name of the source, for events without one.", callback=_not_empty),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out lines that are no events, and list them.")
]
Scorers = Annotated[
    list[str],
    typer.Option("--scorer", metavar="[SIGNAL=]SCORER", help="Whose readings count; repeatable."),
]
Parameters = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="PATTERN.PARAMETER=NUMBER", help="Another number for a pattern; repeatable."
    ),
]
Task = Annotated[str, typer.Option(metavar="TEXT", help="Runs: what the agent was asked to do.")]
Goal = Annotated[str, typer.Option(metavar="TEXT", help="Runs: what its actions should serve.")]
Allow = Annotated[
    list[str], typer.Option("--allow", metavar="GLOB", help="Runs: paths the task allows; repeatable.")
]
Deny = Annotated[
    list[str], typer.Option("--deny", metavar="GLOB", help="Runs: paths it does not allow; repeatable.")
]
Cwd = Annotated[str, typer.Option(metavar="FOLDER", help="Runs: where the agent worked.")]


def run_context(task: str, goal: str, allow: Sequence[str], deny: Sequence[str], cwd: str) -> dict[str, Any]:
    """The settings that say what a run was for and where it may go; what was not given is left out.

    >>> run_context("fix the parser", "", ["src/**"], [], "")
    {'goal': 'fix the parser', 'allow': ['src/**']}
    """
    said = "\n".join(one for one in (task, goal) if one.strip())
    given = {"goal": said, "allow": list(allow), "deny": list(deny), "cwd": cwd}
    return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Asked:
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
    """What is said of runs; see `run_context`."""

    def __post_init__(self) -> None:
        import sys

        from ..errors import BadUsage

        if "-" in self.paths and sys.stdin is None:
            raise BadUsage("-: standard input is closed; send events into it, or name a file")

    def settings(self) -> Settings:
        """The settings from file, environment and these options."""
        return self.loaded().settings

    def mutes(self, loaded: Loaded, *, untrusted: bool = False) -> tuple[Mute, ...]:
        """The entries of the mutes file, if there is one; those of an untrusted one only if asked for."""
        from .errors import warn

        entries, warning = loaded.read_mutes()
        if warning:
            does = "what it mutes is shown as such", "ignored, it mutes nothing here"
            warn(warning if untrusted else warning.replace(*does), as_json=self.as_json)
        return tuple(one for one in entries if untrusted or not one.untrusted)

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
        """The moment of the question, if one was given."""
        from ..errors import BadUsage
        from ..models import parse_time

        try:
            return parse_time(self.as_of) if self.as_of else None
        except ValueError as error:
            raise BadUsage(f"--as-of: {error}") from None

    def read(self, library: Library, settings: Settings, progress: Progress) -> Batch:
        """The events; bad lines that were left out are listed on standard error."""
        from ..ingest import read_events

        batch = read_events(self.paths, **self._how(library, settings, progress))
        progress.stop()
        self.tell_bad(batch)
        return batch

    def gather(self, library: Library, settings: Settings, progress: Progress) -> Batch | OnDisk:
        """The same, on disk where the events are too many to be held in memory."""
        from ..ingest import gather_events

        how = self._how(library, settings, progress)
        gathered = gather_events(self.paths, memory=settings.memory, **how)
        progress.stop()
        self.tell_bad(gathered)
        return gathered

    def _how(self, library: Library, settings: Settings, progress: Progress) -> dict[str, Any]:
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

    def tell_bad(self, batch: Gathered) -> None:
        """List bad lines that were left out on standard error."""
        import sys

        from ..errors import BadEvents
        from .errors import faults_of

        for fault in faults_of(BadEvents(batch.bad, more=batch.bad_count - len(batch.bad))):
            if self.as_json:
                write_json(fault.to_dict(), to=sys.stderr)
            else:
                write_line(printable(str(fault)), to=sys.stderr)


def latest_of(settings: Settings) -> datetime | None:
    """The latest time an event may have, by the machine's clock."""
    from datetime import UTC, datetime

    from ..ingest.collector import latest_time

    return latest_time(datetime.now(UTC), settings.max_future)


def load_config(config: str, overrides: Mapping[str, Any] | None = None, *, as_json: bool = False) -> Loaded:
    """The settings of a file, or of the usual ones; the signals they name are known or not nearly known.

    What is refused of a file that is not trusted is said on standard error.
    """
    from ..config import load_settings
    from ..patterns.settings_check import check_names
    from .errors import warn

    loaded = load_settings(config or None, overrides=overrides)
    for line in loaded.warnings:
        warn(line, as_json=as_json)
    check_names(loaded)
    return loaded


def scorers_of(given: Sequence[str]) -> dict[str, str]:
    """Signal to scorer; a scorer alone stands for every signal not named.

    >>> scorers_of(["rubric-2", "compassion=local@3"])
    {'*': 'rubric-2', 'compassion': 'local@3'}
    """
    from ..errors import BadUsage

    found: dict[str, str] = {}
    for one in given:
        signal, scorer = one.split("=", 1) if "=" in one else ("*", one)
        if not signal.strip() or not scorer.strip():
            raise BadUsage(
                f"--scorer takes SCORER or SIGNAL=SCORER, like compassion=rubric-2; here is {one!r:.80}"
            )
        found[signal.strip()] = scorer.strip()
    return found


def parameters_of(given: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Pattern to parameter to number.

    >>> parameters_of(["love_bombing.warmth=0.3"])
    {'love_bombing': {'warmth': 0.3}}
    """
    from ..errors import BadUsage

    found: dict[str, dict[str, Any]] = {}
    for one in given:
        name, equals, value = one.partition("=")
        pattern, dot, parameter = name.strip().rpartition(".")
        try:
            number = float(value)
        except ValueError:
            number = None
        if not (equals and dot and pattern and parameter) or number is None:
            raise BadUsage(
                f"--set takes PATTERN.PARAMETER=NUMBER, like loop.threshold=4; here is {one!r:.80}"
            )
        found.setdefault(pattern, {})[parameter] = number
    return found
