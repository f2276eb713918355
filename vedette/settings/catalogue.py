"""The catalogue of settings: the fields of `Settings`, each with name, type, default, unit and
description. The reference and `vedette config show` are generated from it.

Some settings have a second name, from docs/api-objects.md (`Setting.alias`). The value 0 disables a
limit only where the description says so.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, get_args, get_type_hints

from vedette.settings.engine_settings import EngineSettings
from vedette.settings.setting import About, Origin, Setting

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "console"]
TlsVersion = Literal["1.2", "1.3"]
SmtpSecurity = Literal["starttls", "tls", "none"]
SyslogTransport = Literal["udp", "tcp", "tls"]
SyslogFormat = Literal["cef", "leef", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(EngineSettings):
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
    tls_min_version: Annotated[
        TlsVersion, About("Oldest version of TLS that clients may speak.")
    ] = "1.2"
    tls_ciphers: Annotated[
        str,
        About(
            "Ciphers of TLS 1.2, as OpenSSL writes them: ECDHE+AESGCM:ECDHE+CHACHA20. Empty: the "
            "library's. Those of TLS 1.3 are all good and not chosen."
        ),
    ] = ""
    log_level: Annotated[LogLevel, About("Least severity that is logged.")] = "info"
    log_format: Annotated[
        LogFormat, About("Form of log lines; auto is console on a terminal and json elsewhere.")
    ] = "auto"
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
    starter_rules: Annotated[
        bool,
        About("Add the project's own detection rules, and after an upgrade their new versions."),
    ] = True
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
    partition_roll_rows: Annotated[
        int,
        About(
            "Rows of segments at which the hot partition is closed, once it is an hour old; 0 for "
            "no such limit. Searches of closed partitions are faster.",
            unit="rows",
        ),
    ] = 5_000_000
    retention_days: Annotated[
        int, About("Partitions whose newest data is older are deleted; 0 keeps them.", unit="days")
    ] = 30
    alert_retention_days: Annotated[
        int,
        About(
            "Alerts that nothing happened to for so long are deleted; 0 keeps them.", unit="days"
        ),
    ] = 365
    permalink_days: Annotated[
        int, About("Days after which a short link to a view ends.", unit="days", least=1)
    ] = 90
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
    trusted_proxies: Annotated[
        tuple[str, ...],
        About(
            "Addresses or blocks of proxies whose X-Forwarded-For is believed; without one, a "
            "caller's address is that of the connection."
        ),
    ] = ()
    proxy_protocol: Annotated[
        bool,
        About(
            "Connections from trusted_proxies begin with a PROXY header, version 2, with the "
            "address of their client, and are closed without one: for balancers that pass TLS on."
        ),
    ] = False
    license_provider_key: Annotated[
        Path | None,
        About("Public key of the provider of licenses, PEM (Ed25519); licenses are checked by it."),
    ] = None
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
    signature_roots: Annotated[
        Path | None,
        About(
            "Certificates (PEM) that signatures of programs are trusted by: a file or a folder of "
            "files. Without it the chain of a signature is described and not judged."
        ),
    ] = None
    signature_distrusted: Annotated[
        Path | None,
        About(
            "Certificates whose signatures are worth nothing: a file of PEM, or of SHA-256 "
            "fingerprints, one a line."
        ),
    ] = None
    blob_bucket: Annotated[
        str,
        About(
            "Bucket for copies of programs and packages, of Amazon S3 or another object store with "
            "its protocol. Empty: the directory blobs in the data directory."
        ),
    ] = ""
    blob_endpoint: Annotated[
        str, About("URL of the object store (https://host:port). Empty: Amazon's.")
    ] = ""
    blob_region: Annotated[str, About("Region of the bucket.")] = "us-east-1"
    blob_prefix: Annotated[
        str, About("What the names of all objects begin with, so that a bucket can be shared.")
    ] = ""
    blob_credentials_file: Annotated[
        Path | None,
        About(
            "File in the form of ~/.aws/credentials, of which [default] is used. Without one: "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else the role of the machine."
        ),
    ] = None
    blob_deadline_s: Annotated[
        int,
        About(
            "Time after which a request to the object store is given up, with its repetitions.",
            unit="seconds",
            least=1,
            most=600,
        ),
    ] = 20
    token_lifetime_days: Annotated[
        int,
        About(
            "How long a new token is good where its command does not say; 0: until it is revoked.",
            unit="days",
            most=36_500,
        ),
    ] = 365
    requests_per_minute: Annotated[
        int,
        About(
            "Requests of one token of a user, or of one session; above it 429. 0: any number. "
            "Sensors and senders of telemetry are not counted.",
            unit="requests a minute",
            most=10_000_000,
        ),
    ] = 12_000
    failures_per_minute: Annotated[
        int,
        About(
            "Requests with bad tokens from one address; above it they get 429 in place of 401. "
            "0: any number.",
            unit="requests a minute",
            most=10_000_000,
        ),
    ] = 1_200
    update_job_days: Annotated[
        int,
        About("How long a sensor-update job waits for its devices.", unit="days", least=1),
    ] = 7
    org_key: Annotated[
        str, About("Key of the organization in the paths of the cloud side; letters and digits.")
    ] = "VEDETTE"
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
    public_url: Annotated[
        str, About("Address of this server as people know it, for links in messages.")
    ] = ""
    egress_allow: Annotated[
        tuple[str, ...],
        About(
            "Addresses and networks that webhooks, feeds and identity providers may have although "
            "they are loopback, link-local or of a metadata service."
        ),
    ] = ()
    feed_files: Annotated[
        Path | None,
        About(
            "Directory below which the files of file:// feeds lie. Without one: feeds in the data "
            "directory."
        ),
    ] = None
    feed_interval_minutes: Annotated[
        int,
        About("Time between two synchronisations of a feed.", unit="minutes", least=1, most=10_080),
    ] = 60
    feed_bytes_max: Annotated[
        int, About("Largest document of a feed, decompressed.", unit="bytes", least=1024)
    ] = 2 * 2**30
    feed_timeout_s: Annotated[
        int, About("Time to read the document of a feed.", unit="seconds", least=1)
    ] = 1800
    feed_proxy: Annotated[
        str,
        About("Proxy of feeds with use_proxy: http://user:password@host:port.", secret=True),
    ] = ""
    feed_ca_file: Annotated[
        Path | None,
        About("Certificates, PEM, that servers of feeds may have besides public ones."),
    ] = None
    oidc_ca_file: Annotated[
        Path | None,
        About("Certificates, PEM, that identity providers may have besides public ones."),
    ] = None
    smtp_host: Annotated[str, About("Mail server; without one no mail is sent.")] = ""
    smtp_port: Annotated[int, About("Port of the mail server.", least=1, most=65_535)] = 587
    smtp_security: Annotated[
        SmtpSecurity,
        About("starttls: required before anything else is sent; tls: from the first byte; none."),
    ] = "starttls"
    smtp_username: Annotated[str, About("Login at the mail server; empty for none.")] = ""
    smtp_password: Annotated[str, About("Password of that login.", is_password=True)] = ""
    smtp_from: Annotated[str, About("Sender of mails.")] = "vedette@localhost"
    smtp_ca: Annotated[
        Path | None,
        About("Certificates that the mail server's is checked against, PEM; else the system's."),
    ] = None
    mail_digest_s: Annotated[
        int,
        About(
            "Time for which a mail waits for others to the same person, to be one with them.",
            unit="seconds",
            most=86_400,
        ),
    ] = 30
    syslog_host: Annotated[str, About("Syslog server; without one no syslog is sent.")] = ""
    syslog_port: Annotated[int, About("Port of the syslog server.", least=1, most=65_535)] = 514
    syslog_transport: Annotated[
        SyslogTransport, About("How lines get there; only tcp and tls notice a loss.")
    ] = "udp"
    syslog_format: Annotated[SyslogFormat, About("Form of the message in a line.")] = "cef"
    syslog_ca: Annotated[
        Path | None,
        About("Certificates that the syslog server's is checked against, PEM; else the system's."),
    ] = None
    syslog_cert: Annotated[
        Path | None, About("Certificate of this server for the syslog server, with its key, PEM.")
    ] = None
    webhook_url: Annotated[
        str, About("Receiver of http actions that name none of their own.", is_password=True)
    ] = ""
    webhook_ca: Annotated[
        Path | None,
        About("Certificates that receivers of webhooks may have besides the system's, PEM."),
    ] = None
    forwarder_files: Annotated[
        Path | None,
        About(
            "Directory below which forwarders write files. Without one: forwarded in the data "
            "directory."
        ),
    ] = None
    forwarder_ca: Annotated[
        Path | None,
        About("Certificates that destinations of forwarders may have besides the system's, PEM."),
    ] = None
    webhook_template: Annotated[
        str, About("Template of those: vedette, slack, teams, pagerduty or jira.")
    ] = "vedette"
    webhook_secret: Annotated[
        str, About("Key that signs those (docs/notifications.md).", is_password=True)
    ] = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and the origin of each value by name."""

    settings: Settings
    origins: Mapping[str, Origin]


@cache
def catalogue() -> Mapping[str, Setting]:
    """Returns every setting by name, in the order of the reference."""
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
