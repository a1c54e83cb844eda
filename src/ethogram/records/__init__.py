"""The nouns: event, reading, detection, verdict, risk. They import nothing else of ours."""

from .detection import STATES, Detection, Evidence, detection_id
from .event import GIVEN, Event, Reading, Value, content_hash, default_id, stable_hash
from .levels import LEVELS, highest, rank
from .risk import Risk
from .times import EPOCH, format_duration, format_time, micros, moment, parse_duration, parse_time
from .traits import TRAITS, is_evaluated, is_indicator_name
from .verdict import VERDICTS, Verdict

__all__ = [
    "EPOCH",
    "GIVEN",
    "LEVELS",
    "STATES",
    "TRAITS",
    "VERDICTS",
    "Detection",
    "Event",
    "Evidence",
    "Reading",
    "Risk",
    "Value",
    "Verdict",
    "content_hash",
    "default_id",
    "detection_id",
    "format_duration",
    "format_time",
    "highest",
    "is_evaluated",
    "is_indicator_name",
    "micros",
    "moment",
    "parse_duration",
    "parse_time",
    "rank",
    "stable_hash",
]
