"""Loads the settings from their layers, with the origin of each value.

Later layers win: default, the TOML file (`--config FILE`, else `vedette.toml` in the data
directory), environment (`VEDETTE_` + the name in capitals), flags (`--name-with-dashes`). An
unknown name is an error in every layer, so that typos are detected. Paths in the file are relative
to the file, all others to the working directory. Loaded paths are absolute, so that nothing depends
on the working directory afterwards.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from vedette.settings.catalogue import Loaded, Settings, catalogue
from vedette.settings.conflict import Conflict, conflicts
from vedette.settings.setting import ENVIRONMENT_PREFIX, About, Origin, Setting, SettingsError

CONFIG_VARIABLE = "VEDETTE_CONFIG"
FILE_NAME = "vedette.toml"

FOREIGN_VARIABLE = re.compile(
    r"VEDETTE_(CONFIG|TOKEN|CLUSTER_ADMIN_DSN|INGEST_TOKEN|SHARED|TEST_.*|SERVICE_.*|PORT|PORT_.*)"
)
"""Variables with our prefix that are not settings: secrets that commands read, variables of the
test suite, and the links that Kubernetes creates for a service called vedette."""

_SIZE = re.compile(r"(\d+)\s*([KMGT]i?)?B?", re.IGNORECASE)
_SIZE_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

Given = dict[str, tuple[object, Origin]]


def load(
    *,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    config: Path | None = None,
    typed_as: Mapping[str, str] | None = None,
) -> Loaded:
    """Returns the settings from all layers. `flags` maps names to values, as text or typed.
    `typed_as` maps a name to the flag that the user typed, if that is not `--name-with-dashes`;
    messages quote it.

    Raises SettingsError for an unknown name, a bad value, an unreadable file, and conflicting
    settings.
    """
    given = _named(_from_flags(flags, typed_as))
    variables = _named(_from_environment(environ))
    path, is_named = _config_path(config, environ, variables | given)
    file = _named(_from_file(path, is_named))
    if "data" in file and not is_named:
        raise _data_within(file["data"][1])
    read = file | variables | given
    typed = {name: _typed(catalogue()[name], *found) for name, found in read.items()}
    loaded = _loaded(typed, read)
    for conflict in conflicts(loaded.settings):
        raise SettingsError(_described(conflict, loaded))
    return loaded


def _loaded(typed: Mapping[str, Any], read: Given) -> Loaded:
    origins = {name: read[name][1] if name in read else Origin("default") for name in catalogue()}
    settings = Settings(**typed)
    paths: dict[str, Any] = {
        name: value.absolute()
        for name in catalogue()
        if isinstance(value := getattr(settings, name), Path)
    }
    return Loaded(replace(settings, **paths), origins)


def _described(conflict: Conflict, loaded: Loaded) -> str:
    """Returns the message of a conflict, with the origin of the first of its settings that was
    set."""
    origins = [loaded.origins[name] for name in conflict.names]
    return next((one for one in origins if one.place), origins[0]).named(conflict.text)


def _data_within(origin: Origin) -> SettingsError:
    return SettingsError(
        f"{origin.place}: data: cannot be set by the file inside the data directory; "
        "name the file with --config"
    )


@dataclass(frozen=True, slots=True)
class Examined:
    """Result of checking all layers."""

    loaded: Loaded
    """Settings with the default in place of each invalid value."""
    problems: list[str]
    """All problems, with the messages of `load`."""
    wrong: frozenset[str]
    """Settings with a problem, and settings similar to an unknown name."""


def examine(
    *,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    config: Path | None = None,
    typed_as: Mapping[str, str] | None = None,
) -> Examined:
    """Returns all problems of the settings, whereas `load` raises the first: unknown names and bad
    values of every layer, and conflicts between settings whose values are valid."""
    found: list[str] = []
    wrong: set[str] = set()

    def known(entries: Iterable[tuple[str, object, Origin]], *, may_set_data: bool = True) -> Given:
        values: Given = {}
        for name, value, origin in entries:
            with _noting(found):
                setting = _known(name, origin)
                wrong.update({setting.name} & values.keys())
                _refuse_twice(setting, values, origin)
                values[setting.name] = (value, origin)
                if setting.name == "data" and not may_set_data:
                    del values["data"]
                    raise _data_within(origin)
                continue
            wrong.update(difflib.get_close_matches(name, catalogue(), n=1))
        return values

    given = known(_from_environment(environ))
    given |= known(_from_flags(flags, typed_as))
    path, is_named = _config_path(config, environ, given)
    file: Given = {}
    try:
        file = known(list(_from_file(path, is_named)), may_set_data=is_named)
    except SettingsError as error:  # the file's settings are unknown
        found.append(str(error))
        wrong.update(catalogue())
    read, typed = file | given, {}
    for name, (value, origin) in read.items():
        with _noting(found):
            typed[name] = _typed(catalogue()[name], value, origin)
            continue
        wrong.add(name)
    loaded = _loaded(typed, read)
    of_right = [one for one in conflicts(loaded.settings) if wrong.isdisjoint(one.names)]
    found += [_described(one, loaded) for one in of_right]
    wrong.update(name for one in of_right for name in one.names)
    return Examined(loaded, list(dict.fromkeys(found)), frozenset(wrong))


@contextmanager
def _noting(found: list[str]) -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        found.append(str(error))


def _named(layer: Iterable[tuple[str, object, Origin]]) -> Given:
    """Returns the values of a layer by the names of their settings."""
    values: Given = {}
    for name, value, origin in layer:
        setting = _known(name, origin)
        _refuse_twice(setting, values, origin)
        values[setting.name] = (value, origin)
    return values


def _refuse_twice(setting: Setting, values: Given, origin: Origin) -> None:
    if setting.name in values:
        raise SettingsError(f"{origin.place}: {setting.name}: set twice, under two names")


def _config_path(
    config: Path | None, environ: Mapping[str, str], given: Given
) -> tuple[Path, bool]:
    """Returns the path of the file, and whether the user named it. A named file must exist and may
    set `data`."""
    if config is not None:
        return config, True
    if CONFIG_VARIABLE in environ:
        return Path(environ[CONFIG_VARIABLE]), True
    data, _ = given.get("data", (catalogue()["data"].default, None))
    return Path(str(data)) / FILE_NAME, False


def _from_file(path: Path, is_named: bool) -> Iterator[tuple[str, object, Origin]]:
    try:
        text = path.read_text("utf-8")
        table = tomllib.loads(text)
    except FileNotFoundError:
        if is_named:
            raise SettingsError(f"{path}: no such file") from None
        return
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: {error}") from None
    for key, value in table.items():
        origin = _line(path, text, key)
        yield key, _resolve_path(path, key, value), origin


def _resolve_path(path: Path, key: str, value: object) -> object:
    setting = catalogue().get(key)
    if setting is None or Path not in (setting.type, *get_args(setting.type)):
        return value
    return path.parent / value if isinstance(value, str) else value


def _line(path: Path, text: str, key: str) -> Origin:
    """Returns the origin of a key in the file, as path:line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].strip().strip("\"'") == key:
            return Origin("file", f"{path}:{number}")
    return Origin("file", str(path))


def _from_flags(
    flags: Mapping[str, object], typed_as: Mapping[str, str] | None
) -> Iterator[tuple[str, object, Origin]]:
    for name, value in flags.items():
        place = (typed_as or {}).get(name, "--" + name.replace("_", "-"))
        yield name, value, Origin("flag", place)


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object, Origin]]:
    for key, value in environ.items():
        if key.startswith(ENVIRONMENT_PREFIX) and not FOREIGN_VARIABLE.fullmatch(key):
            name = key.removeprefix(ENVIRONMENT_PREFIX).lower()
            yield name, value, Origin("environment", key)


def _known(name: str, origin: Origin) -> Setting:
    for setting in catalogue().values():
        alias = setting.about.alias
        if name == setting.name or (alias and name.lower() == alias.lower()):
            return setting
    nearest = difflib.get_close_matches(name, catalogue(), n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    place = origin.place if origin.place.endswith(f" {name}") else f"{origin.place}: {name}"
    raise SettingsError(f"{place}: unknown setting{hint}")


def _typed(setting: Setting, value: object, origin: Origin) -> Any:
    about = setting.about
    try:
        typed = _converted(setting.type, about.unit, value)
        if isinstance(typed, int) and not isinstance(typed, bool):
            _check_bounds(typed, about)
    except ValueError as error:
        unlike = "" if about.secret or about.is_password else f", not {value!r}"
        raise SettingsError(f"{origin.place}: {setting.name}: {error}{unlike}") from None
    return typed


def _check_bounds(value: int, about: About) -> None:
    if value < about.least:
        raise ValueError(f"must be at least {about.least}")
    if about.most is not None and value > about.most:
        raise ValueError(f"must be at most {about.most}")


def _converted(kind: Any, unit: str, value: object) -> object:
    """Returns the value converted to its setting's type. Raises ValueError with the expected
    form."""
    if get_origin(kind) is Literal:
        return _choice(get_args(kind), value)
    if kind is bool:
        return _truth(value)
    if kind is int:
        return _number(value, unit)
    if kind is str and isinstance(value, str):
        return value
    if Path in (kind, *get_args(kind)) and isinstance(value, str | Path):
        return Path(value) if str(value) or kind is Path else None
    if get_origin(kind) is tuple:
        return _texts(value)
    raise ValueError("must be a string")


def _choice(choices: tuple[str, ...], value: object) -> object:
    if value not in choices:
        raise ValueError("must be one of " + ", ".join(choices))
    return value


def _truth(value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError("must be true or false")


def _number(value: object, unit: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        if unit == "bytes" and (size := _SIZE.fullmatch(value.strip())):
            return int(size[1]) * _SIZE_UNITS[(size[2] or "")[:1].upper()]
        if value.strip().isdecimal():
            return int(value)
    if unit == "bytes":
        raise ValueError('must be a number of bytes, such as 1048576 or "64 MiB"')
    raise ValueError(f"must be a whole number{unit and ' of ' + unit}")


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError("must be a list of strings")
