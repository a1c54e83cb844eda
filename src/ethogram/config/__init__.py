"""Settings: one frozen record, with every default visible, and where each value comes from.

Defaults, then `ethogram.yaml`, then the environment (`ETHOGRAM_LATENESS=30s`), then what the caller says.
"""

from .layers import CONFIG_FILE, CONFIG_VARIABLE
from .load import Loaded, load_settings, show
from .settings import STATUSES, Settings

__all__ = ["CONFIG_FILE", "CONFIG_VARIABLE", "STATUSES", "Loaded", "Settings", "load_settings", "show"]
