"""The catalogue of settings: the fields of `Settings`, each with name, type, default, unit and
description. The reference and `vedette config show` are made from it.

Some settings also answer to the name that docs/api-objects.md gives them (`Setting.alias`). 0
switches a limit off where the text says so, and nowhere else.
"""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

ENVIRONMENT_PREFIX = "VEDETTE_"

_PASSWORD = re.compile(r"((?<=://)[^/:@]*:|\bpassword=)(?:.*(?=@)|[^&@]*)")
"""The password in a DSN, which is hidden: up to the last @, or up to the next parameter."""

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "console"]


class SettingsError(ValueError):
    """A bad setting; the text names it and the origin of its value."""


@dataclass(frozen=True, slots=True)
class About:
    """Metadata of a setting: description, unit, bounds of a number."""

    text: str
    unit: str = ""
    least: int = 0
    most: int | None = None
    alias: str = ""
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The value of every setting."""

    data: Annotated[Path, About("Directory that holds all data of a server on one machine.")] = (
        Path("vedette-data")
    )
    listen_host: Annotated[
        str, About("Address to listen on; 0.0.0.0 for all interfaces of this machine.")
    ] = "127.0.0.1"
    listen_port: Annotated[
        int, About("Port to listen on; 0 lets the system choose one.", most=65_535)
    ] = 8443
    http: Annotated[bool, About("Serve plain HTTP in place of HTTPS; on loopback only.")] = False
    http_anywhere: Annotated[
        bool, About("Allow plain HTTP on other addresses, for use behind a proxy that ends TLS.")
    ] = False
    tls_cert: Annotated[
        Path | None,
        About("Certificate chain, PEM. Without one, a self-signed certificate is made."),
    ] = None
    tls_key: Annotated[Path | None, About("Private key of the certificate, PEM.")] = None
    log_level: Annotated[LogLevel, About("Least severity that is logged.")] = "info"
    log_format: Annotated[
        LogFormat, About("Form of log lines; auto is console on a terminal and json elsewhere.")
    ] = "auto"
    state_dsn: Annotated[
        str,
        About(
            "Database of users, tokens and sensors: postgresql://user:password@host/name. "
            "Empty: SQLite in the data directory.",
            secret=True,
        ),
    ] = ""
    clickhouse_dsn: Annotated[
        str,
        About(
            "ClickHouse for telemetry: clickhouse://user:password@host:8123/database. "
            "Empty: embedded, in the data directory.",
            secret=True,
        ),
    ] = ""
    body_bytes_max: Annotated[
        int, About("Largest request body as sent.", unit="bytes", least=1024)
    ] = 64 * 2**20
    body_inflated_bytes_max: Annotated[
        int, About("Largest request body after decompression.", unit="bytes", least=1024)
    ] = 256 * 2**20
    queue_bytes_max: Annotated[
        int,
        About(
            "Bodies accepted and not yet stored; above it senders get 429.",
            unit="bytes",
            least=1024,
        ),
    ] = 256 * 2**20
    commit_bytes_max: Annotated[
        int, About("Bodies that share one commit.", unit="bytes", least=1024)
    ] = 40 * 2**20
    preparing_processes: Annotated[
        int,
        About(
            "Processes that prepare events for storing. 0: one a core, 4 at most.",
            unit="processes",
            most=32,
        ),
    ] = 0
    commit_wait_ms: Annotated[
        int,
        About(
            "How long a commit waits for other requests before it starts.",
            unit="milliseconds",
            most=10_000,
        ),
    ] = 50
    keep: Annotated[
        tuple[str, ...],
        About(
            'Records without a process that are kept, as "channel:id" or "channel:*"; "default" '
            "stands for the built-in list."
        ),
    ] = ("default",)
    partition_roll_hours: Annotated[
        int,
        About(
            "Age at which the hot partition is closed and a new one begun.", unit="hours", least=1
        ),
    ] = 72
    partition_roll_bytes: Annotated[
        int, About("Size at which the hot partition is closed; 0 for no such limit.", unit="bytes")
    ] = 0
    retention_days: Annotated[
        int, About("Partitions whose newest data is older are deleted; 0 keeps them.", unit="days")
    ] = 30
    retention_bytes: Annotated[
        int,
        About("The oldest partitions above this total are deleted; 0 for no limit.", unit="bytes"),
    ] = 0
    retention_free_disk_bytes: Annotated[
        int,
        About(
            "The oldest partitions are deleted while less disk is free; 0 for no such rule.",
            unit="bytes",
        ),
    ] = 0
    search_deadline_s: Annotated[
        int,
        About("Time after which a search answers with what it has found.", unit="seconds", least=1),
    ] = 60
    user_searches_max: Annotated[
        int,
        About(
            "Searches of one user that run or wait at the same time; above it 429.",
            unit="searches",
            least=1,
        ),
    ] = 40
    count_filtered_results: Annotated[
        bool,
        About(
            "Show users who do not see all hosts how many results of a search they do not see "
            "(filtered). The count reveals what hidden hosts hold: for trusted users only."
        ),
    ] = False
    block_leading_wildcards: Annotated[
        bool,
        About(
            "Refuse queries whose words begin with a wildcard.",
            alias="ForceBlockLeadingWildcardsInSearchTo",
        ),
    ] = False
    block_large_joins: Annotated[
        bool,
        About(
            "Refuse fields of binaries in process searches while there are more than "
            "join_binaries_max binaries.",
            alias="ForceBlockCoreJoinsInSearchTo",
        ),
    ] = False
    join_binaries_max: Annotated[
        int,
        About(
            "Binaries up to which block_large_joins allows joins.",
            unit="binaries",
            alias="ModuleCoreDocumentCountWarningThreshold",
        ),
    ] = 10_000_000
    fuzzy_facets: Annotated[
        bool,
        About("Estimate the facets of large results, unless a search says svc.facet.fuzzy=false."),
    ] = False
    process_events_max: Annotated[
        int,
        About(
            "Events of a process that one answer of the event routes holds.",
            unit="events",
            least=1,
            alias="CoreServicesMaxEventResultsPerProcess",
        ),
    ] = 10_000
    checkin_interval_s: Annotated[
        int,
        About(
            "Time between two check-ins of a sensor; large fleets get a longer one.",
            unit="seconds",
            least=5,
            most=3600,
        ),
    ] = 30
    isolation_allow: Annotated[
        tuple[str, ...],
        About("Addresses (ip:port) that isolated hosts may still reach, besides this server."),
    ] = ()
    copied_files_bytes_max: Annotated[
        int,
        About("Room for copies of programs that sensors send; 0 asks for none.", unit="bytes"),
    ] = 10 * 2**30
    token_lifetime_days: Annotated[
        int,
        About(
            "How long a new token is good where its command does not say; 0: until it is revoked.",
            unit="days",
            most=36_500,
        ),
    ] = 365
    stream_ttl_s: Annotated[
        int, About("Time an unused stream is kept.", unit="seconds", least=1, alias="StreamTTLSecs")
    ] = 3600
    bulk_timeout_s: Annotated[
        int,
        About(
            "Time after which a bulk request answers with what it has done.",
            unit="seconds",
            least=1,
            alias="BulkDataTimeoutSecs",
        ),
    ] = 20
    suppression_timeout_s: Annotated[
        int,
        About(
            "Time after which a suppression check answers that it timed out.",
            unit="seconds",
            least=1,
            alias="SuppressionStatusCheckTimeoutSecs",
        ),
    ] = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as in the reference: name, type, default, metadata."""

    name: str
    type: Any
    default: Any
    about: About

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a value; `place` is the file and line, the variable or the argument."""

    layer: Literal["default", "file", "environment", "flag"]
    place: str = ""

    def __str__(self) -> str:
        return f"{self.layer} {self.place}".rstrip()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings with the origin of every one, by name."""

    settings: Settings
    origins: Mapping[str, Origin]


@cache
def catalogue() -> Mapping[str, Setting]:
    """Every setting by its name, in the order of the reference."""
    hints = get_type_hints(Settings, include_extras=True)
    return {
        known.name: Setting(
            known.name,
            get_args(hints[known.name])[0],
            known.default,
            hints[known.name].__metadata__[0],
        )
        for known in dataclasses.fields(Settings)
    }


def shown(setting: Setting, value: object) -> str | int | bool | list[str] | None:
    """A value as `vedette config show` prints it: secrets without their password."""
    match value:
        case str() if setting.about.secret:
            return _PASSWORD.sub(r"\1***", value)
        case Path():
            return str(value)
        case tuple():
            return [str(item) for item in value]
        case None | bool() | int() | str():
            return value
        case _:
            raise AssertionError(f"no way to show {setting.name}")
