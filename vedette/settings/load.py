"""Load the settings from their layers, with the origin of each value.

The later wins: default, the TOML file (`--config FILE`, else `vedette.toml` in the data
directory), environment (`VEDETTE_` + the name in capitals), flags (`--name-with-dashes`). An
unknown name is an error in every layer, so that a typo never passes silently. Paths of the
file are relative to the file, all others to the working directory.
"""

import difflib
import ipaddress
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from vedette.settings.catalogue import Loaded, Settings, catalogue
from vedette.settings.setting import ENVIRONMENT_PREFIX, About, Origin, Setting, SettingsError

CONFIG_VARIABLE = "VEDETTE_CONFIG"
FILE_NAME = "vedette.toml"

FOREIGN_VARIABLE = re.compile(
    r"VEDETTE_(CONFIG|TOKEN|CLUSTER_ADMIN_DSN|INGEST_TOKEN|SHARED|TEST_.*|SERVICE_.*|PORT|PORT_.*)"
)
"""Variables that begin like ours and are no settings: the secrets that commands take, the test
suite's, and the links that Kubernetes makes for a service called vedette."""

_OWN_ADDRESSES = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))

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
    """Settings from all layers. `flags` holds those given, by name, as text or typed; `typed_as`
    what was typed for a flag where it is not `--name-with-dashes`, for messages.

    Raises SettingsError for an unknown name, a bad value, a file that cannot be read, and
    for settings that do not go together.
    """
    arguments = typed_as or {}
    given = _named(
        (name, value, Origin("flag", arguments.get(name, "--" + name.replace("_", "-"))))
        for name, value in flags.items()
    )
    variables = _named(_from_environment(environ))
    file = _named(_from_file(*_config_path(config, environ, variables | given)))
    read = file | variables | given
    typed = {name: _typed(catalogue()[name], *found) for name, found in read.items()}
    settings = Settings(**typed)
    origins = {name: read[name][1] if name in read else Origin("default") for name in catalogue()}
    _check_together(settings)
    return Loaded(settings, origins)


def problems(
    *, flags: Mapping[str, object], environ: Mapping[str, str], config: Path | None = None
) -> list[str]:
    """All that is wrong with the settings, where `load` raises the first: unknown names and bad
    values of every layer; what does not go together once these are right. Each as `load` says
    it."""
    found: list[str] = []
    entries = [(name, value, Origin("flag", name)) for name, value in flags.items()]
    entries += _from_environment(environ)
    given: Given = {}
    for name, value, origin in entries:
        with _noting(found):
            given[_known(name, origin).name] = (value, origin)
    with _noting(found):
        entries += _from_file(*_config_path(config, environ, given))
    for name, value, origin in entries:
        with _noting(found):
            _typed(_known(name, origin), value, origin)
    if not found:
        with _noting(found):
            load(flags=flags, environ=environ, config=config)
    return list(dict.fromkeys(found))


@contextmanager
def _noting(found: list[str]) -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        found.append(str(error))


def _named(layer: Iterable[tuple[str, object, Origin]]) -> Given:
    """The values of one layer by the names of their settings."""
    values: Given = {}
    for name, value, origin in layer:
        setting = _known(name, origin)
        if setting.name in values:
            raise SettingsError(f"{origin.place}: {setting.name}: given twice, by two names")
        values[setting.name] = (value, origin)
    return values


def _config_path(
    config: Path | None, environ: Mapping[str, str], given: Given
) -> tuple[Path, bool]:
    """The file, and whether it was named: a named one must exist and may set `data`."""
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
        if key == "data" and not is_named:
            raise SettingsError(
                f"{origin.place}: data: cannot be set by the file inside the data directory; "
                "name the file with --config"
            )
        yield key, _resolve_path(path, key, value), origin


def _resolve_path(path: Path, key: str, value: object) -> object:
    setting = catalogue().get(key)
    if setting is None or Path not in (setting.type, *get_args(setting.type)):
        return value
    return path.parent / value if isinstance(value, str) else value


def _line(path: Path, text: str, key: str) -> Origin:
    """The place of a key of the file, as path:line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].strip().strip("\"'") == key:
            return Origin("file", f"{path}:{number}")
    return Origin("file", str(path))


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
    raise SettingsError(f"{place}: there is no such setting{hint}")


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
    """The value as its setting's type; ValueError says what is wanted."""
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
    raise ValueError("must be a text")


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
        raise ValueError('must be a number of bytes, as in 1048576 or "64 MiB"')
    raise ValueError(f"must be a whole number{unit and ' of ' + unit}")


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError("must be a list of texts")


def _check_proxy_protocol(settings: Settings) -> None:
    if not settings.proxy_protocol:
        return
    if not settings.trusted_proxies:
        raise SettingsError("proxy_protocol: name the proxies in trusted_proxies")
    for proxy in settings.trusted_proxies:
        network = ipaddress.ip_network(proxy, strict=False)
        if any(own.version == network.version and own in network for own in _OWN_ADDRESSES):
            raise SettingsError(
                f"proxy_protocol: {proxy} of trusted_proxies holds the address from which commands "
                "on this machine call the server; have the proxy call from another, e.g. 127.0.0.2"
            )


def _check_together(settings: Settings) -> None:
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise SettingsError("tls_cert, tls_key: give both or none")
    if settings.http and settings.tls_cert is not None:
        raise SettingsError("http: a certificate is given as well; choose one of the two")
    if settings.http and not settings.http_anywhere and not _is_loopback(settings.listen_host):
        raise SettingsError(
            f"http: tokens would cross the network unencrypted on {settings.listen_host}; "
            "listen on loopback, or set http_anywhere behind a proxy that ends TLS"
        )
    if settings.commit_bytes_max > settings.queue_bytes_max:
        raise SettingsError("commit_bytes_max: must not be above queue_bytes_max")
    for proxy in settings.trusted_proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise SettingsError(
                f"trusted_proxies: {proxy!r} is no address and no block such as 10.0.0.0/8"
            ) from None
    _check_proxy_protocol(settings)
    if settings.blob_endpoint and not settings.blob_bucket:
        raise SettingsError("blob_endpoint: give blob_bucket as well")
    if settings.blob_endpoint and not re.fullmatch(r"https?://[^/@\s]+/?", settings.blob_endpoint):
        raise SettingsError(
            "blob_endpoint: must be https://host:port, without a path; credentials go to "
            "blob_credentials_file"
        )
    _check_networks(settings.egress_allow)
    for entry in settings.keep:
        if entry != "default" and not re.fullmatch(r".+:(\*|\d+)", entry):
            raise SettingsError(
                f'keep: must be "channel:id", "channel:*" or "default", not {entry!r}'
            )


def _check_networks(texts: Iterable[str]) -> None:
    for text in texts:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise SettingsError(
                f"egress_allow: {text!r} is no address and no network, as 10.0.0.0/8"
            ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
