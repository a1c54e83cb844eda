"""Options: what the settings say that a signal may want to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..models import parse_duration
from ..models.constants import RESOURCES
from ..models.slotted import dataclass, field

if TYPE_CHECKING:
    from ..config import Settings


@dataclass(frozen=True, slots=True)
class Options:
    """`time_zone` is the default time zone of subjects; None: not known.

    `session_inactivity`, in microseconds, is the longest pause inside one session.
    `normalization` (low, medium, high) is how much that varies by chance is taken out of errors and steps.
    `allow`, `deny` and `critical_paths` are globs of paths, `cwd` the working directory and `goal` the task
    of every run, where the events have none. `inference_enabled`: missing values may be inferred from users'
    messages and from the project. `semantic_analysis` (basic, advanced) is how steps are compared
    with the goal. Of the resources only those in `resources_monitored` are read, and `resource_limits` gives
    their limits. `usage` selects the events that are a person's use of a service, and its limits.
    `conversation` configures the risk of conversations.
    """

    time_zone: str | None = None
    session_inactivity: int = parse_duration("30m")
    normalization: str = "medium"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    critical_paths: tuple[str, ...] = ()
    cwd: str | None = None
    goal: str | None = None
    inference_enabled: bool = True
    semantic_analysis: str = "basic"
    resources_monitored: tuple[str, ...] = RESOURCES
    resource_limits: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    conversation: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> Options:
        """What these settings say."""
        known = {name: getattr(settings, name) for name in cls.__slots__}
        known["normalization"] = settings.normalization_level or settings.normalization
        known["resources_monitored"] = settings.resources_monitored or RESOURCES
        return cls(**known)
