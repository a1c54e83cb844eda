"""The settings: their types, limits, defaults and descriptions, each in one place.

The checks and the JSON Schema of ethogram.yaml are derived from the annotations here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, get_args

from msgspec import UNSET, Meta, UnsetType

from ..chat.records import SIGNALS
from ..fields import InputStruct, Ratio, Rung, Severity, Status, one_of
from ..models.constants import (
    FUSION_WEIGHTS,
    GRAPH_LABELS,
    GRAPH_TYPES,
    NORMALIZATION,
    RESOURCES,
    SEVERITY_WEIGHTS,
    USAGE_KINDS,
)
from ..models.limits import Limits
from ..models.severity import SEVERITIES
from ..models.slotted import dataclass, field
from . import checks

LIMITS: Mapping[str, int] = MappingProxyType(asdict(Limits()))
"""How large input may be; models/limits.py says what each is."""
_DURATION = r"\d{1,9}(\.\d{1,6})?\s*[smhdw]\s*$"

Text = Annotated[str, Meta(pattern=r"\S")]
Texts = tuple[Text, ...]
Selectors = Annotated[
    tuple[str, ...],
    checks.selectors,
    Meta(extra_json_schema={"items": {"type": "string", "pattern": r"\S", "not": {"pattern": r"\.py$"}}}),
]
"""Patterns by name, glob, file or folder: settings never run code."""
Flag = Annotated[
    bool, Meta(extra_json_schema={"type": ["boolean", "string"], "enum": [True, False, "true", "false"]})
]
Whole = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]
Weight = Annotated[float, Meta(ge=0, le=10)]
Multiplier = Annotated[float, Meta(ge=1)]
Duration = Annotated[
    int,
    checks.duration,
    Meta(
        description="A duration: 90s, 30m, 48h, 7d or 2w.",
        extra_json_schema={"type": "string", "pattern": rf"^\s*{_DURATION}"},
    ),
]
"""Microseconds; '30m' in the file."""
HalfLife = Annotated[
    int,
    checks.half_life,
    Meta(
        description="A duration above 0: 12h, 7d or 2w.",
        extra_json_schema={"type": "string", "pattern": rf"^\s*(?=[^1-9]*[1-9]){_DURATION}"},
    ),
]
Hours = Annotated[
    tuple[int, ...],
    checks.hours,
    Meta(
        min_length=2,
        max_length=2,
        extra_json_schema={
            "items": {"type": "integer", "minimum": 0, "maximum": 23},
            "uniqueItems": True,
        },
    ),
]
Embedder = Annotated[str, checks.embedder, Meta(pattern=r"^(static|none|onnx:.+|openai:.+)$")]
VersionOrFile = Annotated[
    str,
    checks.version_or_file,
    Meta(extra_json_schema={"type": ["integer", "string"], "minimum": 0, "pattern": r"\S"}),
]
Label = Annotated[str, checks.label, Meta(pattern="^[A-Za-z][A-Za-z0-9_]{0,63}$")]
Option = Annotated[
    Any, checks.option, Meta(extra_json_schema={"type": ["string", "number", "boolean", "object"]})
]
OptionName = checks.Keys(bad_name=checks.bad_option_name)
Normalization = Annotated[str, one_of(*NORMALIZATION)]
Resource = Annotated[
    str, checks.resource, Meta(extra_json_schema={"enum": [*RESOURCES, *checks.RESOURCE_NAMES]})
]


class HookSettings(InputStruct, forbid_unknown_fields=True):
    """What a hook does about a run of a coding agent; docs/hook.md."""

    rungs: tuple[Rung, ...] = ("nudge", "remind", "ask")
    """What it may do, from the mildest."""
    off: Texts = ()
    """Rungs, patterns and tools that are turned off."""
    patterns: Selectors = ()
    """Patterns it watches; none: all that it can."""
    cool_down: Whole = 5
    """Steps between two messages about one thing."""
    most: Whole = 6
    """How many times a run is interrupted at most."""
    lowest: Severity = "medium"
    """The level from which anything is said."""
    critical: Annotated[str, one_of("ask", "off")] = "ask"
    """What is done before a critical path is touched."""


class UsageSettings(InputStruct, forbid_unknown_fields=True):
    """How people's use of a service is measured; docs/people.md."""

    kinds: tuple[Annotated[str, one_of(*USAGE_KINDS)], ...] = ("usage",)
    """Kinds of events that are use of the service."""
    cohort: VersionOrFile = "1"
    """A version of the cohort's table, or a file."""
    night: Hours = (2, 5)
    """From which hour to which it is night, on the person's own clock."""
    region: Annotated[str, checks.region, Meta(pattern=r"\S")] | None = None
    """A country or a part of it: DE, US-CA."""
    helplines: Annotated[Mapping[str, Text], checks.helplines] = MappingProxyType({})
    """What to offer, by region."""
    weights: Annotated[Mapping[str, Ratio], checks.Keys(*FUSION_WEIGHTS)] = FUSION_WEIGHTS
    """How much each score counts in the fused one."""
    quiet_limit: Positive | UnsetType = UNSET
    usual_limit: Positive | UnsetType = UNSET
    few_share: Positive | UnsetType = UNSET
    few_least: Positive | UnsetType = UNSET
    expected_least: Positive | UnsetType = UNSET
    zone_confidence: Positive | UnsetType = UNSET


class ConversationSettings(InputStruct, forbid_unknown_fields=True):
    """How the risk of conversations is followed; docs/chat.md."""

    embedder: Embedder | None = "static"
    """What compares texts: static, onnx:/FOLDER or openai:MODEL@URL; null or none: nothing does."""
    weights: Annotated[Mapping[str, Weight], checks.Keys(*SIGNALS)] = MappingProxyType({})
    """How much each signal counts, 1 where it is not named."""
    half_life: Duration = 12 * 3600 * 1_000_000
    """How quickly risk is forgotten."""
    memory: Flag = False
    """Whether risk is remembered across conversations."""
    evaluator_wait: Duration = 3_000_000
    """For how long a question to an evaluator is sent again where its server fails."""


class GraphSettings(InputStruct, forbid_unknown_fields=True):
    """How a graph in Neo4j is made; docs/graph.md."""

    labels: Annotated[Mapping[str, Label], checks.Keys(*GRAPH_LABELS, *GRAPH_TYPES)] = MappingProxyType({})
    """Other names for labels and relationship types, such as {Subject: Agent}."""


class RiskSettings(InputStruct, forbid_unknown_fields=True):
    """How detections add up to a risk; docs/risk.md."""

    weights: Annotated[Mapping[str, Ratio], checks.Keys(*SEVERITIES)] = SEVERITY_WEIGHTS
    """What a new and certain detection of each level makes."""
    half_life: HalfLife = 7 * 86_400_000_000
    """How fast a detection fades."""
    half_lives: Mapping[str, HalfLife] = MappingProxyType({})
    """The same by cause."""
    multipliers: Mapping[str, Multiplier] = MappingProxyType({})
    """What combinations multiply the odds by."""
    floor: Ratio = 0.5
    """What stays of a critical detection."""
    floor_half_life: HalfLife = 30 * 86_400_000_000
    """How fast that fades."""


class LearningSettings(InputStruct, forbid_unknown_fields=True):
    """How patterns learn from verdicts; docs/learning.md."""

    enabled: Flag = True
    adjustment_threshold: Ratio = 0.7
    """The precision below which another number is proposed."""
    history_retention_days: Whole = 30
    """How long verdicts are kept."""
    minimum: Whole = 30
    """Verdicts it takes to propose anything."""
    each: Whole = 5
    """Verdicts it takes of each kind."""
    luck: Ratio = 0.02
    """How often random verdicts may look as good."""
    accuracy_minimum: Whole = 20
    """Verdicts it takes to state a precision."""
    second_look: Ratio = 0.2
    """The share of detections that a second judge is asked about."""
    automatic: Flag = False
    """Whether proposals are accepted without asking."""
    step: Ratio = 0.1
    """How far an automatic change goes at once."""
    far: Ratio = 0.25
    """How far automatic changes go in all."""
    lose: Ratio = 0.05
    """The share of confirmed detections that an automatic change may lose."""
    apart_days: Whole = 7
    """Days between two automatic changes."""
    file: Text | None = None
    """Where changes are kept; null: ethogram.learned.yaml beside the settings file."""


class MetricsSettings(InputStruct, forbid_unknown_fields=True):
    """How the service counts; docs/service.md."""

    prefix: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,60}$")] = "ethogram"
    """What the names of metrics begin with."""


def defaults_of(section: type[InputStruct]) -> Mapping[str, Any]:
    """The defaults of a section; settings without one are left out."""
    # Not msgspec.structs.fields, which evaluates all annotations.
    defaults = zip(section.__struct_fields__, section.__struct_defaults__, strict=True)
    plain = {name: dict(item) if isinstance(item, Mapping) else item for name, item in defaults}
    return MappingProxyType({name: value for name, value in plain.items() if value is not UNSET})


HOOK = defaults_of(HookSettings)
USAGE = defaults_of(UsageSettings)
CONVERSATION = defaults_of(ConversationSettings)
GRAPH = defaults_of(GraphSettings)
METRICS = defaults_of(MetricsSettings)
RISK = defaults_of(RiskSettings)
LEARNING = defaults_of(LearningSettings)


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set in ethogram.yaml. Durations are microseconds here and '30m' in the file."""

    patterns: Selectors = ()
    """Pattern files and folders, added to the library's own; one of the same name takes its place."""
    enabled_patterns: Selectors = ()
    """Patterns that are run where nobody asks for others, by name, glob or file; none: those that are on."""
    combination_detection: Flag = True
    """Whether combinations of patterns are looked for, where nobody asks for one by name."""
    parameters: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Other numbers for a pattern's parameters: pattern -> parameter -> number."""
    status: Mapping[str, Status] = field(default_factory=dict)
    """Another status for a pattern: pattern -> status."""
    scorers: Mapping[str, Text] = field(default_factory=dict)
    """Whose readings count: signal -> scorer; '*' for every signal not named."""
    signals: Annotated[
        Mapping[str, Annotated[str, one_of("number", "category")]],
        checks.Keys(bad_name=checks.bad_signal_name),
    ] = field(default_factory=dict)
    """Signals of your own scorers: name -> number or category."""
    time_zone: Annotated[str, checks.time_zone, Meta(pattern=r"\S")] | None = None
    """Where subjects live who do not say; null: not known."""
    session_inactivity: Duration = 30 * 60 * 1_000_000
    """The longest pause inside one session."""
    normalization: Normalization = "medium"
    """How much that varies by chance is taken out of errors and steps of runs: low, medium or high."""
    normalization_level: Normalization | None = None
    """Another name for `normalization`, which it replaces where it is set."""
    allow: Texts = ()
    """Paths that runs may touch, as globs; with none, what a run works on itself tells its scope."""
    deny: Texts = ()
    """Paths that no run may touch, as globs; these win over `allow`."""
    critical_paths: Texts = ()
    """Paths nobody should touch unasked, as globs, beside the usual ones (secrets, keys, system files)."""
    cwd: Text | None = None
    """The working directory of runs that do not say; null: not known."""
    goal: Text | None = None
    """What runs are to do, where they do not say; null: their first message."""
    inference_enabled: Flag = True
    """Whether the scope of a run is inferred where it is not told: from persons' words, then the project."""
    semantic_analysis: Annotated[str, one_of("basic", "advanced")] = "basic"
    """How steps are compared with the goal: basic (words and paths) or advanced (parts of words too)."""
    resources_monitored: tuple[Resource, ...] = ()
    """Which of the resources that runs use are read; none named: all."""
    resource_limits: Annotated[Mapping[str, Positive], checks.Keys(*RESOURCES)] = field(default_factory=dict)
    """How much of each resource there is: resource -> number."""
    lateness: Duration = 0
    """How long a live event may wait for an earlier one."""
    max_future: Duration | None = 86_400_000_000
    """How far ahead of the clock an event may be dated; null: no limit, for archives from elsewhere."""
    max_histories: Whole = 100_000
    """Histories of each kind that a watch holds; those longest without an event are let go first."""
    source: Text = "input"
    """The name of the source, for events that do not say."""
    limits: Annotated[Mapping[str, Whole], checks.Keys(*LIMITS)] = field(default_factory=lambda: dict(LIMITS))
    """How large input may be."""
    memory: Whole = 400_000_000
    """About how many bytes of events are held in memory; more go through a temporary folder."""
    fail_on: Severity | None = None
    """The lowest severity of detection that makes a run fail; null: none does."""
    mutes: Text | None = None
    """The file of mutes; null: ethogram.mutes.yaml beside the settings file, or here."""
    evaluator: Text | None = None
    """Who scores messages in an analysis; null: nobody, only readings that are given count."""
    evaluators: Annotated[Mapping[str, Annotated[Mapping[str, Option], OptionName]], OptionName] = field(
        default_factory=dict
    )
    """Options of evaluators: evaluator -> option -> value. Keys to services never stand here."""
    answers: Text | None = None
    """The file that keeps paid answers; null: one in the user's cache folder."""
    hook: Annotated[Mapping[str, Any], HookSettings] = field(default_factory=lambda: dict(HOOK))
    """What a hook does about a run of a coding agent: its ladder, and what is turned off."""
    usage: Annotated[Mapping[str, Any], UsageSettings] = field(default_factory=lambda: dict(USAGE))
    """People's use of a service: which kinds of events it is told by, the cohort, the night, limits."""
    conversation: Annotated[Mapping[str, Any], ConversationSettings] = field(
        default_factory=lambda: dict(CONVERSATION)
    )
    """The risk of conversations: the embedder, how much each signal counts, how quickly risk is forgotten."""
    graph: Annotated[Mapping[str, Any], GraphSettings] = field(default_factory=lambda: dict(GRAPH))
    """Stores in Neo4j: the names of labels and relationship types."""
    risk: Annotated[Mapping[str, Any], RiskSettings] = field(default_factory=lambda: dict(RISK))
    """How detections add up to a risk: what each severity weighs, how fast it fades, the floor."""
    learning: Annotated[Mapping[str, Any], LearningSettings] = field(default_factory=lambda: dict(LEARNING))
    """How patterns learn from verdicts: when something is proposed, how long verdicts are kept."""
    metrics: Annotated[Mapping[str, Any], MetricsSettings] = field(default_factory=lambda: dict(METRICS))
    """How the service counts: what the names of its metrics begin with."""
    calibration: Flag = True
    """Whether confidences are shown, and count in a risk, as the share of verdicts that bore them out."""


def learning_in(settings: Settings) -> Mapping[str, Any]:
    """How patterns learn from verdicts; what is not set is as usual.

    >>> learning_in(Settings(learning={"minimum": 50}))["minimum"], learning_in(Settings())["each"]
    (50, 5)
    """
    return {**LEARNING, **settings.learning}


SETTINGS = tuple(Settings.__dataclass_fields__)
"""The names of all settings."""


@cache
def setting_types() -> Mapping[str, Any]:
    """The type of every setting, by name."""
    return checks.section_types(Settings)


@cache
def setting_check(name: str) -> checks.Check:
    """The check of a setting."""
    return checks.check_for(setting_types()[name])


def is_duration(place: checks.Place) -> bool:
    """Whether the value at a place is a duration, or a mapping of durations.

    >>> is_duration(("lateness",)), is_duration(("risk", "half_lives", "stuck")), is_duration(("memory",))
    (True, True, False)
    """
    return not _durations().isdisjoint({".".join(map(str, place[:depth])) for depth in (1, 2)})


@cache
def _durations() -> frozenset[str]:
    def names(types: Mapping[str, Any], prefix: str) -> Iterator[str]:
        for name, hint in types.items():
            if _measures_time(hint):
                yield prefix + name
            for meta in getattr(hint, "__metadata__", ()):
                if isinstance(meta, type):
                    yield from names(checks.section_types(meta), f"{prefix}{name}.")

    return frozenset(names(setting_types(), ""))


def _measures_time(hint: Any) -> bool:
    metas = getattr(hint, "__metadata__", ())
    return checks.duration in metas or checks.half_life in metas or any(map(_measures_time, get_args(hint)))
