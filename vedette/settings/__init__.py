"""Settings: the catalogue (`catalogue.py`), and loading from file, environment and flags
(`load.py`)."""

from vedette.settings.catalogue import (
    Loaded,
    Origin,
    Setting,
    Settings,
    SettingsError,
    catalogue,
    shown,
)
from vedette.settings.load import load

__all__ = [
    "Loaded",
    "Origin",
    "Setting",
    "Settings",
    "SettingsError",
    "catalogue",
    "load",
    "shown",
]
