"""Signals: named measures of an event. To add one: a new file here with one decorated function or class.

Importing this package finds nothing yet; `ethogram.registry.signals` walks the folder when asked.
"""

from __future__ import annotations

from .base import Signal, Unmeasured, signal
from .measurer import Measurer, measure_all, plan
from .options import Options

__all__ = ["Measurer", "Options", "Signal", "Unmeasured", "measure_all", "plan", "signal"]
