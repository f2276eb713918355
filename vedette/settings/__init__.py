"""What can be set (`catalogue.py`), and how it is read (`load.py`)."""

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
