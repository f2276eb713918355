"""Settings: the catalogue (`catalogue.py`, `setting.py`), loading from file, environment and flags
(`load.py`), and conflicts between settings (`conflict.py`)."""

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
