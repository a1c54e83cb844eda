"""Settings: defaults, the user's file, `ethogram.yaml`, the environment and the caller, in that order."""

from __future__ import annotations

from .layers import CONFIG_VARIABLE, Refused
from .loading import Loaded, load_settings, show
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
