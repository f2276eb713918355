"""Settings: the catalogue of them (`catalogue.py`, `setting.py`), and loading from file,
environment and flags (`load.py`)."""

from vedette.settings.catalogue import Loaded, Settings, catalogue
from vedette.settings.load import load, problems
from vedette.settings.setting import Origin, Setting, SettingsError, shown

__all__ = [
    "Loaded",
    "Origin",
    "Setting",
    "Settings",
    "SettingsError",
    "catalogue",
    "load",
    "problems",
    "shown",
]
