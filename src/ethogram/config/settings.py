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
    """What it may do, from the mildest; add stop to let it end a run."""
    off: Texts = ()
    """Rungs, patterns and tools that are turned off."""
    patterns: Selectors = ()
    """Patterns that it watches beside the run patterns that are on."""
    cool_down: Whole = 5
    """Steps between two rungs about the same thing."""
    most: Whole = 6
    """Interventions in a run at most."""
    lowest: Severity = "medium"
    """The lowest severity that leads to an intervention."""
    critical: Annotated[str, one_of("ask", "off")] = "ask"
    """What is done before a critical path is touched."""


class UsageSettings(InputStruct, forbid_unknown_fields=True):
    """How people's use of a service is measured; docs/people.md."""

    kinds: tuple[Annotated[str, one_of(*USAGE_KINDS)], ...] = ("usage",)
    """Kinds of events that are a person's activity."""
    cohort: VersionOrFile = "1"
    """A version of the cohort table, or a file."""
    night: Hours = (2, 5)
    """From which hour to which it is night, on the person's clock."""
    region: Annotated[str, checks.region, Meta(pattern=r"\S")] | None = None
    """A country or a part of it: DE, US-CA."""
    helplines: Annotated[Mapping[str, Text], checks.helplines] = MappingProxyType({})
    """Texts for your staff, by region."""
    weights: Annotated[Mapping[str, Ratio], checks.Keys(*FUSION_WEIGHTS)] = FUSION_WEIGHTS
    """How much each score counts in the fused one."""
    quiet_limit: Positive | UnsetType = UNSET
    """Surprise of a silence that is withdrawal (1.6)."""
    usual_limit: Positive | UnsetType = UNSET
    """The same against alike weeks (2.3)."""
    few_share: Positive | UnsetType = UNSET
    """Share of the quietest stretch below which messages are few (.5)."""
    few_least: Positive | UnsetType = UNSET
    """Messages that stretch must have had for that (5)."""
    expected_least: Positive | UnsetType = UNSET
    """Messages in the quietest stretch (8)."""
    zone_confidence: Positive | UnsetType = UNSET
    """Confidence from which an inferred time zone counts (.6)."""


class ConversationSettings(InputStruct, forbid_unknown_fields=True):
    """How the risk of conversations is followed; docs/chat.md."""

    embedder: Embedder | None = "static"
    """What compares texts: static, onnx:/FOLDER or openai:MODEL@URL; null or none: nothing does."""
    weights: Annotated[Mapping[str, Weight], checks.Keys(*SIGNALS)] = MappingProxyType({})
    """How much each signal counts, 1 where it is not named."""
    half_life: Duration = 12 * 3600 * 1_000_000
    """Half-life of accumulated risk."""
    memory: Flag = False
    """Whether risky topics are remembered across conversations of a subject; needs a store."""
    evaluator_wait: Duration = 3_000_000
    """For how long a question to an evaluator is sent again where its server fails."""


class GraphSettings(InputStruct, forbid_unknown_fields=True):
    """How a graph in Neo4j is made; docs/graph.md."""

    labels: Annotated[Mapping[str, Label], checks.Keys(*GRAPH_LABELS, *GRAPH_TYPES)] = MappingProxyType({})
    """Other names for labels and relationship types, such as {Subject: Agent}."""


class RiskSettings(InputStruct, forbid_unknown_fields=True):
    """How detections add up to a risk; docs/risk.md."""

    weights: Annotated[Mapping[str, Ratio], checks.Keys(*SEVERITIES)] = SEVERITY_WEIGHTS
    """The risk that a new, certain detection of each severity makes; must not fall with severity."""
    half_life: HalfLife = 7 * 86_400_000_000
    """How fast a detection fades."""
    half_lives: Mapping[str, HalfLife] = MappingProxyType({})
    """The same of single causes."""
    multipliers: Mapping[str, Multiplier] = MappingProxyType({})
    """What single combinations multiply the odds by, 1 or more."""
    floor: Ratio = 0.5
    """The risk that stays after a critical detection; 0: none."""
    floor_half_life: HalfLife = 30 * 86_400_000_000
    """How fast that fades."""


class LearningSettings(InputStruct, forbid_unknown_fields=True):
    """How patterns learn from verdicts; docs/learning.md."""

    enabled: Flag = True
    """False: no proposals; accepted values stay in force."""
    adjustment_threshold: Ratio = 0.7
    """The precision below which another value is proposed."""
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
    """Whether `patterns learn` changes values itself."""
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
    """Pattern files and folders, added to the library; a pattern of the same name replaces the library's."""
    enabled_patterns: Selectors = ()
    """Patterns to run where a command names none: names, globs (`run/*`), YAML files; none: all stable."""
    combination_detection: Flag = True
    """Whether combinations run by default; with `enabled_patterns`, those whose parts it names."""
    parameters: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Overrides of pattern parameters: pattern -> parameter -> number."""
    status: Mapping[str, Status] = field(default_factory=dict)
    """Overrides of status: pattern -> experimental, shadow, stable or retired (off)."""
    scorers: Mapping[str, Text] = field(default_factory=dict)
    """Whose readings count: signal -> scorer; '*' for the rest; `given`: readings without a scorer."""
    signals: Annotated[
        Mapping[str, Annotated[str, one_of("number", "category")]],
        checks.Keys(bad_name=checks.bad_signal_name),
    ] = field(default_factory=dict)
    """Signals that your scorers supply: name -> number or category."""
    time_zone: Annotated[str, checks.time_zone, Meta(pattern=r"\S")] | None = None
    """IANA time zone of subjects who do not say; null: unknown."""
    session_inactivity: Duration = 30 * 60 * 1_000_000
    """The longest pause inside one session."""
    normalization: Normalization = "medium"
    """Runs: how much variation (numbers, ids, paths) is removed before errors and steps are compared."""
    normalization_level: Normalization | None = None
    """Another name of `normalization`."""
    allow: Texts = ()
    """Runs: paths that a run may touch, as globs; none: the scope is inferred."""
    deny: Texts = ()
    """Runs: paths that a run must not touch, as globs; these win over `allow`."""
    critical_paths: Texts = ()
    """Runs: globs nobody should touch unasked, beside secrets, keys and system files."""
    cwd: Text | None = None
    """Runs: the working directory where events do not say; null: unknown."""
    goal: Text | None = None
    """Runs: the goal where events do not say; null: the first message of a person."""
    inference_enabled: Flag = True
    """Runs: infer the scope from messages and the project; false: only `allow`, `deny` and `cwd` count."""
    semantic_analysis: Annotated[str, one_of("basic", "advanced")] = "basic"
    """Runs: compare steps with the goal by words and paths (basic), also by parts of words (advanced)."""
    resources_monitored: tuple[Resource, ...] = ()
    """Runs: the resources that `resource_spiral` follows; none: all."""
    resource_limits: Annotated[Mapping[str, Positive], checks.Keys(*RESOURCES)] = field(default_factory=dict)
    """Runs: how much of each resource there is; `resource_spiral` then reports the steps left."""
    lateness: Duration = 0
    """How long a live event waits for earlier ones."""
    max_future: Duration | None = 86_400_000_000
    """How far ahead of the clock an event or sweep may be; null: no limit, for archives."""
    max_histories: Whole = 100_000
    """Histories of each kind that a watch holds, 10 to 15 kB each; the longest idle are evicted first."""
    source: Text = "input"
    """The source of events that name none."""
    limits: Annotated[Mapping[str, Whole], checks.Keys(*LIMITS)] = field(default_factory=lambda: dict(LIMITS))
    """Limits of the input."""
    memory: Whole = 400_000_000
    """Bytes of events held in memory; more use a temporary folder."""
    fail_on: Severity | None = None
    """The lowest severity at which `analyze` exits with 3; null: none."""
    mutes: Text | None = None
    """The file of mutes; null: ethogram.mutes.yaml beside the settings file, else in the current folder."""
    evaluator: Text | None = None
    """What scores messages in an analysis; null: only readings that are given count."""
    evaluators: Annotated[Mapping[str, Annotated[Mapping[str, Option], OptionName]], OptionName] = field(
        default_factory=dict
    )
    """Options by evaluator: evaluator -> option -> value; never keys."""
    answers: Text | None = None
    """The file of paid answers; null: one in your cache folder."""
    hook: Annotated[Mapping[str, Any], HookSettings] = field(default_factory=lambda: dict(HOOK))
    """The hook for coding agents."""
    usage: Annotated[Mapping[str, Any], UsageSettings] = field(default_factory=lambda: dict(USAGE))
    """People's use of a service."""
    conversation: Annotated[Mapping[str, Any], ConversationSettings] = field(
        default_factory=lambda: dict(CONVERSATION)
    )
    """The risk of conversations."""
    graph: Annotated[Mapping[str, Any], GraphSettings] = field(default_factory=lambda: dict(GRAPH))
    """Stores in Neo4j."""
    risk: Annotated[Mapping[str, Any], RiskSettings] = field(default_factory=lambda: dict(RISK))
    """How detections add up to a risk."""
    learning: Annotated[Mapping[str, Any], LearningSettings] = field(default_factory=lambda: dict(LEARNING))
    """How patterns learn from verdicts."""
    metrics: Annotated[Mapping[str, Any], MetricsSettings] = field(default_factory=lambda: dict(METRICS))
    """Metrics of the service."""
    calibration: Flag = True
    """Whether confidences are calibrated by verdicts."""


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
