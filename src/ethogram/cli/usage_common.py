"""What the commands on people's use have in common: their options, and the tracker of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..usage.tracker import UsageTracker


UsageStore = Annotated[str, typer.Option("--store", metavar="FILE", help="The file that people are kept in.")]
KeyFile = Annotated[
    str,
    typer.Option(
        "--key", metavar="FILE", help="The key of the pseudonyms; else ETHOGRAM_USAGE_KEY_FILE names it."
    ),
]
Why = Annotated[str, typer.Option("--why", metavar="WORDS", help="Why you look; it stands in the audit.")]
Who = Annotated[str, typer.Option("--who", metavar="NAME", help="Who looks; without it, your user name.")]
Region = Annotated[
    str,
    typer.Option("--region", metavar="CODE", help="Where they are: DE, US-CA; chooses the helpline shown."),
]
AsOfNow = Annotated[
    str, typer.Option("--as-of", metavar="TIME", help="The moment of the question; without it, now.")
]
IsPseudonym = Annotated[
    bool, typer.Option("--pseudonym", help="The subject is given by the name that the store has.")
]


def open_tracker(store: str, key: str, who: str, **how: Any) -> UsageTracker:
    """The tracker of a file that is there, unless told otherwise."""
    from ..usage.tracker import UsageTracker

    how = {"create": False, **how}
    return UsageTracker(path_of(store), key=key or None, who=who or user_name(), **how)


def measured_by(config: str) -> dict[str, Any]:
    """How a tracker measures, as ethogram.yaml has it under `usage` and `time_zone`."""
    from dataclasses import fields

    from ..usage.cohort import find_cohort
    from ..usage.settings import Settings
    from .inputs import load_config

    settings = load_config(config).settings
    known = {one.name for one in fields(Settings)}
    limits = {name: value for name, value in settings.usage.items() if name in known}
    return {
        "cohort": find_cohort(settings.usage["cohort"]),
        "settings": Settings(**limits, inactivity=settings.session_inactivity // 1_000_000),
        "time_zone": settings.time_zone,
    }


def path_of(store: str) -> Path:
    """The file that --store names, as a path or a URL."""
    from ..errors import BadUsage

    if not store:
        raise BadUsage("which store? Give --store with a path, such as --store usage.db")
    if "://" not in store:
        return Path(store)
    from ..store.sqlite import parse

    return parse(store)[0]


def user_name() -> str:
    """Who runs the command, as far as the system says."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def whom(subject: str, is_pseudonym: bool) -> str:
    """The subject, as the tracker takes it."""
    from ..usage.pseudonym import Pseudonym

    return Pseudonym(subject) if is_pseudonym else subject
