"""Settings: one frozen record, with every default visible, and where each value comes from.

Defaults, then the user's own file, then `ethogram.yaml`, then the environment (`ETHOGRAM_LATENESS=30s`), then
what the caller says. A file that was only found in the folder counts whole once it is trusted.
"""

from __future__ import annotations

from .loading import CONFIG_VARIABLE, Loaded, Refused, load_settings, show
from .settings import Settings
from .trust import CONFIG_FILE

__all__ = [
    "CONFIG_FILE",
    "CONFIG_VARIABLE",
    "Loaded",
    "Refused",
    "Settings",
    "load_settings",
    "show",
]
