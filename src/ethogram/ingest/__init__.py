"""Events from JSON lines, JSON arrays, CSV, Parquet, agent transcripts, folders and standard input, in order.

To read another format, add one file to formats/ with a class under `@adapter("its name")`, see format.py.
Everything an adapter yields goes through the same checks, in event_parser.py and collector.py.
"""

from __future__ import annotations

from ..models.limits import Limits
from .batch import Batch, Gathered
from .errors import BadLine, Unreadable
from .format import Adapter, Input, Record, Skipped, adapter
from .ordering import Buffer, Released, flush, in_order, release
from .reader import events_of, gather_events, read_events, read_frame
from .spill import OnDisk

__all__ = [
    "Adapter",
    "BadLine",
    "Batch",
    "Buffer",
    "Gathered",
    "Input",
    "Limits",
    "OnDisk",
    "Record",
    "Released",
    "Skipped",
    "Unreadable",
    "adapter",
    "events_of",
    "flush",
    "gather_events",
    "in_order",
    "read_events",
    "read_frame",
    "release",
]
