"""Settings: the catalogue of them (`catalogue.py`, `setting.py`), and loading from file,
environment and flags (`load.py`), and what does not go together (`conflict.py`)."""

from vedette.settings.catalogue import Loaded, Settings, catalogue
from vedette.settings.load import Examined, examine, load
from vedette.settings.setting import Origin, Setting, SettingsError, shown

__all__ = [
    "Examined",
    "Loaded",
    "Origin",
    "Setting",
    "Settings",
    "SettingsError",
    "catalogue",
    "examine",
    "load",
    "shown",
]
