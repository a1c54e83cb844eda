"""The settings and their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from ..models.constants import FUSION_WEIGHTS
from ..models.limits import Limits
from ..risk.scoring import WEIGHTS, RiskWeights

LIMITS: Mapping[str, int] = MappingProxyType(asdict(Limits()))
"""How large input may be; records/limits.py says what each is."""

HOOK: Mapping[str, Any] = MappingProxyType(
    {
        "rungs": ("nudge", "remind", "ask"),
        "off": (),
        "patterns": (),
        "cool_down": 5,
        "most": 6,
        "lowest": "medium",
        "critical": "ask",
    }
)
"""How a hook goes about it; docs/hook.md says what each is."""


USAGE: Mapping[str, Any] = MappingProxyType(
    {
        "kinds": ("usage",),
        "cohort": "1",
        "night": (2, 5),
        "region": None,
        "helplines": {},
        "weights": dict(FUSION_WEIGHTS),
    }
)
"""How people's use of a service is measured; docs/people.md says what each is."""
USAGE_LIMITS = ("quiet_limit", "usual_limit", "few_share", "few_least", "expected_least", "zone_confidence")
"""Limits of what is worked out for a whole day; all others are parameters of the patterns."""

EMBEDDERS = ("small", "wordllama", "both", "letters")
"""Those that come along; docs/climb.md says what each is."""
CONVERSATION: Mapping[str, Any] = MappingProxyType(
    {"embedder": "small", "weights": {}, "half_life": 12 * 3600 * 1_000_000, "memory": False}
)
"""How the risk of conversations is followed; docs/climb.md says what each is."""

RISK: Mapping[str, Any] = MappingProxyType(
    {name: value for name, value in asdict(RiskWeights(weights=dict(WEIGHTS))).items() if name != "shadow"}
)
"""How detections add up to a risk; docs/risk.md says what each is."""

LEARNING: Mapping[str, Any] = MappingProxyType(
    {
        "enabled": True,
        "adjustment_threshold": 0.7,
        "history_retention_days": 30,
        "minimum": 30,
        "each": 5,
        "luck": 0.02,
        "accuracy_minimum": 20,
        "second_look": 0.2,
        "automatic": False,
        "step": 0.1,
        "far": 0.25,
        "lose": 0.05,
        "apart_days": 7,
        "file": None,
    }
)
"""How patterns learn from verdicts; docs/learning.md says what each is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set in ethogram.yaml. Durations are microseconds here and '30m' in the file."""

    patterns: tuple[str, ...] = ()
    """Pattern files and folders, added to the library's own; one of the same name takes its place."""
    enabled_patterns: tuple[str, ...] = ()
    """Patterns that are run where nobody asks for others, by name, glob or file; none: those that are on."""
    combination_detection: bool = True
    """Whether combinations of patterns are looked for, where nobody asks for one by name."""
    parameters: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Other numbers for a pattern's parameters: pattern -> parameter -> number."""
    status: Mapping[str, str] = field(default_factory=dict)
    """Another status for a pattern: pattern -> status."""
    scorers: Mapping[str, str] = field(default_factory=dict)
    """Whose readings count: signal -> scorer; '*' for every signal not named."""
    signals: Mapping[str, str] = field(default_factory=dict)
    """Signals of your own scorers: name -> number or category."""
    time_zone: str | None = None
    """Where subjects live who do not say; null: not known."""
    session_inactivity: int = 30 * 60 * 1_000_000
    """The longest pause inside one session."""
    normalization: str = "medium"
    """How much that varies by chance is taken out of errors and steps of runs: low, medium or high."""
    normalization_level: str | None = None
    """Another name for `normalization`, which it replaces where it is set."""
    allow: tuple[str, ...] = ()
    """Paths that runs may touch, as globs; with none, what a run works on itself tells its scope."""
    deny: tuple[str, ...] = ()
    """Paths that no run may touch, as globs; these win over `allow`."""
    critical_paths: tuple[str, ...] = ()
    """Paths nobody should touch unasked, as globs, beside the usual ones (secrets, keys, system files)."""
    cwd: str | None = None
    """The working directory of runs that do not say; null: not known."""
    goal: str | None = None
    """What runs are to do, where they do not say; null: their first message."""
    inference_enabled: bool = True
    """Whether the scope of a run is inferred where it is not told: from persons' words, then the project."""
    semantic_analysis: str = "basic"
    """How steps are compared with the goal: basic (words and paths) or advanced (parts of words too)."""
    resources_monitored: tuple[str, ...] = ()
    """Which of the resources that runs use are read; none named: all."""
    resource_limits: Mapping[str, float] = field(default_factory=dict)
    """How much of each resource there is: resource -> number."""
    lateness: int = 0
    """How long a live event may wait for an earlier one."""
    max_future: int | None = 86_400_000_000
    """How far ahead of the clock an event may be dated; null: no limit, for archives from elsewhere."""
    max_histories: int = 100_000
    """Histories of each kind that a watch holds; those longest without an event are let go first."""
    source: str = "input"
    """The name of the source, for events that do not say."""
    limits: Mapping[str, int] = field(default_factory=lambda: dict(LIMITS))
    """How large input may be."""
    memory: int = 400_000_000
    """About how many bytes of events are held in memory; more go through a temporary folder."""
    fail_on: str | None = None
    """The lowest severity of detection that makes a run fail; null: none does."""
    mutes: str | None = None
    """The file of mutes; null: ethogram.mutes.yaml beside the settings file, or here."""
    evaluator: str | None = None
    """Who scores messages in an analysis; null: nobody, only readings that are given count."""
    evaluators: Mapping[str, Mapping[str, str | float | bool]] = field(default_factory=dict)
    """Options of evaluators: evaluator -> option -> value. Keys to services never stand here."""
    answers: str | None = None
    """The file that keeps paid answers; null: one in the user's cache folder."""
    hook: Mapping[str, Any] = field(default_factory=lambda: dict(HOOK))
    """What a hook does about a run of a coding agent: its ladder, and what is turned off."""
    usage: Mapping[str, Any] = field(default_factory=lambda: dict(USAGE))
    """People's use of a service: which kinds of events it is told by, the cohort, the night, limits."""
    conversation: Mapping[str, Any] = field(default_factory=lambda: dict(CONVERSATION))
    """The risk of conversations: the embedder, how much each signal counts, how quickly risk is forgotten."""
    risk: Mapping[str, Any] = field(default_factory=lambda: dict(RISK))
    """How detections add up to a risk: the weight of each severity, how fast it fades, the lasting floor."""
    learning: Mapping[str, Any] = field(default_factory=lambda: dict(LEARNING))
    """How patterns learn from verdicts: when something is proposed, how long verdicts are kept."""
    calibration: bool = True
    """Whether confidences are shown, and count in a risk, as the share of verdicts that bore them out."""


def learning_in(settings: Settings) -> Mapping[str, Any]:
    """How patterns learn from verdicts; what is not set is as usual.

    >>> learning_in(Settings(learning={"minimum": 50}))["minimum"], learning_in(Settings())["each"]
    (50, 5)
    """
    return {**LEARNING, **settings.learning}
