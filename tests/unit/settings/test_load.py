"""Settings: layers, origins, and what is refused."""

from pathlib import Path
from typing import Any, get_args

import pytest

from vedette import limits
from vedette.ingest.framing.inflate import BODY_INFLATED_BYTES_MAX
from vedette.pipeline.batch.segment_assigner import SEGMENT_EVENTS_MAX
from vedette.settings import Loaded, SettingsError, catalogue, load, shown


def _load(
    tmp_path: Path, toml: str | None = None, environ: dict[str, str] | None = None, **flags: object
) -> Loaded:
    if toml is not None:
        (tmp_path / "vedette.toml").write_text(toml)
    return load(flags={"data": tmp_path} | flags, environ=environ or {})


def test_without_anything_every_value_is_its_default(tmp_path: Path) -> None:
    loaded = load(flags={}, environ={})
    assert loaded.settings.data == Path("vedette-data").absolute()
    assert {str(origin) for origin in loaded.origins.values()} == {"default"}


def test_no_path_depends_on_the_working_directory_once_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("own.toml").write_text('tls_key = "key.pem"\n')
    names = [one.name for one in catalogue().values() if Path in (one.type, *get_args(one.type))]
    environ = {f"VEDETTE_{name.upper()}": name for name in names[1:] if name != "tls_key"}
    settings = load(
        flags={names[0]: Path(names[0])}, environ=environ, config=Path("own.toml")
    ).settings
    monkeypatch.chdir(tmp_path)
    assert {getattr(settings, name) for name in names} == {
        tmp_path / "here" / ("key.pem" if name == "tls_key" else name) for name in names
    }


def test_flags_go_before_the_environment_before_the_file(tmp_path: Path) -> None:
    toml = "listen_port = 1\nstream_ttl_s = 2\nretention_days = 3\n"
    environ = {"VEDETTE_LISTEN_PORT": "4", "VEDETTE_STREAM_TTL_S": "5"}
    loaded = _load(tmp_path, toml, environ, listen_port="6")
    settings = loaded.settings
    assert (settings.listen_port, settings.stream_ttl_s, settings.retention_days) == (6, 5, 3)
    assert str(loaded.origins["listen_port"]) == "flag --listen-port"
    assert str(loaded.origins["stream_ttl_s"]) == "environment VEDETTE_STREAM_TTL_S"
    assert str(loaded.origins["retention_days"]) == f"file {tmp_path}/vedette.toml:3"
    assert str(loaded.origins["http"]) == "default"


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("listen_port", "0", 0),
        ("http", "yes", True),
        ("http", "FALSE", False),
        ("body_bytes_max", "64 MiB", 64 * 2**20),
        ("body_bytes_max", "2g", 2 * 2**30),
        ("body_bytes_max", "4096", 4096),
        ("keep", "default, Security:4625,System:*", ("default", "Security:4625", "System:*")),
        ("keep", "", ()),
        ("log_level", "debug", "debug"),
        ("log_format", "json", "json"),
    ],
)
def test_text_becomes_the_type_of_the_setting(
    tmp_path: Path, name: str, value: str, typed: object
) -> None:
    loaded = _load(tmp_path, environ={f"VEDETTE_{name.upper()}": value})
    assert getattr(loaded.settings, name) == typed


def test_names_of_the_api_document_are_aliases_in_every_layer(tmp_path: Path) -> None:
    toml = "CoreServicesMaxEventResultsPerProcess = 7\nStreamTTLSecs = 8\n"
    environ = {"VEDETTE_STREAMTTLSECS": "9", "VEDETTE_BulkDataTimeoutSecs": "10"}
    loaded = _load(tmp_path, toml, environ, SuppressionStatusCheckTimeoutSecs=11)
    settings = loaded.settings
    assert (settings.process_events_max, settings.stream_ttl_s) == (7, 9)
    assert (settings.bulk_timeout_s, settings.suppression_timeout_s) == (10, 11)
    assert loaded.origins["stream_ttl_s"].place == "VEDETTE_STREAMTTLSECS"


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("listen_prot = 1", r"toml:1: listen_prot: unknown setting; did you mean listen_"),
        ("\nlisten_port = 'x'", "toml:2: listen_port: must be a whole number, not 'x'"),
        ("listen_port = 65536", "listen_port: must be at most 65535"),
        ("listen_port = true", "listen_port: must be a whole number, not True"),
        ("commit_wait_ms = -1", "commit_wait_ms: must be at least 0"),
        ("stream_ttl_s = 1.5", "must be a whole number of seconds, not 1.5"),
        ("body_bytes_max = '1 parsec'", "must be a number of bytes"),
        ("http = 'maybe'", "http: must be true or false"),
        ("log_level = 'loud'", "log_level: must be one of debug, info, warning, error"),
        ("keep = [4625]", "keep: must be a list of strings"),
        ("keep = ['Security']", "keep: must be"),
        ("listen_host = 1", "listen_host: must be a string"),
        ("data = '/x'", "data: cannot be set by the file inside the data directory"),
        ("tls_cert = 'a.pem'", "tls_cert, tls_key: set both or neither"),
        ("http = true\nlisten_host = '0.0.0.0'", "http: tokens would cross the network"),
        (
            "http = true\ntls_cert = 'a'\ntls_key = 'b'",
            "http: cannot be combined with a certificate",
        ),
        ("queue_bytes_max = 1024", "commit_bytes_max: must not be above queue_bytes_max"),
        ("StreamTTLSecs = 1\nstream_ttl_s = 2", "stream_ttl_s: set twice"),
        ("[server]\nport = 1", "server: unknown setting"),
        ("listen_port = ", "vedette.toml: "),
        ("state_dsn = 5", "state_dsn: must be a string$"),
    ],
)
def test_a_mistake_in_the_file_names_the_key_and_the_line(
    tmp_path: Path, toml: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        _load(tmp_path, toml)


def test_an_unknown_variable_or_flag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="VEDETTE_LISTENPORT: listenport: unknown setting"):
        _load(tmp_path, environ={"VEDETTE_LISTENPORT": "1"})
    with pytest.raises(SettingsError, match="--nope: nope: unknown setting"):
        _load(tmp_path, nope=1)


@pytest.mark.parametrize(
    "name",
    [
        "VEDETTE_TOKEN",
        "VEDETTE_INGEST_TOKEN",
        "VEDETTE_TEST_POSTGRES",
        "VEDETTE_SERVICE_HOST",
        "VEDETTE_PORT_8443_TCP",
        "PATH",
    ],
)
def test_variables_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    assert _load(tmp_path, environ={name: "x"}).settings == _load(tmp_path).settings


def test_a_named_file_must_exist_and_may_set_the_data_directory(tmp_path: Path) -> None:
    named = tmp_path / "other.toml"
    with pytest.raises(SettingsError, match="no such file"):
        load(flags={}, environ={}, config=named)
    named.write_text("data = 'here'\ntls_cert = 'c.pem'\ntls_key = '/k.pem'")
    for loaded in (
        load(flags={}, environ={}, config=named),
        load(flags={}, environ={"VEDETTE_CONFIG": str(named)}),
    ):
        settings = loaded.settings
        assert (settings.data, settings.tls_cert) == (tmp_path / "here", tmp_path / "c.pem")
        assert settings.tls_key == Path("/k.pem")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_plain_http_is_for_loopback(tmp_path: Path, host: str) -> None:
    assert _load(tmp_path, http=True, listen_host=host).settings.http


def test_plain_http_elsewhere_must_be_forced(tmp_path: Path) -> None:
    loaded = _load(tmp_path, http=True, listen_host="::", http_anywhere=True)
    assert loaded.settings.http


@pytest.mark.parametrize("proxies", [(), ("10.0.0.1", "127.0.0.0/8"), ("::1",), ("0.0.0.0/0",)])
def test_proxy_headers_are_for_named_proxies_and_not_for_commands_on_the_machine(
    tmp_path: Path, proxies: tuple[str, ...]
) -> None:
    with pytest.raises(SettingsError, match=r"^--proxy-protocol: proxy_protocol: "):
        _load(tmp_path, proxy_protocol=True, trusted_proxies=proxies)
    assert _load(tmp_path, proxy_protocol=True, trusted_proxies=("127.0.0.2",))
    assert _load(tmp_path, trusted_proxies=proxies)


@pytest.mark.parametrize(
    ("dsn", "safe"),
    [
        ("", ""),
        ("postgresql://vedette@db/state", "postgresql://vedette@db/state"),
        ("postgresql://vedette:hunter2@db/state", "postgresql://vedette:***@db/state"),
        ("clickhouse://u:p@ss@h:8123/d", "clickhouse://u:***@h:8123/d"),
        ("postgresql://db/state?password=x&user=u", "postgresql://db/state?password=***&user=u"),
    ],
)
def test_a_dsn_is_shown_without_its_password(dsn: str, safe: str) -> None:
    assert shown(catalogue()["state_dsn"], dsn) == safe


def test_every_setting_says_what_it_is_for(tmp_path: Path) -> None:
    defaults: dict[str, Any] = {name: known.default for name, known in catalogue().items()}
    for name, setting in catalogue().items():
        assert setting.about.text.endswith("."), name
        if setting.type is int and not name.endswith("_port"):
            assert setting.about.unit, name
        assert shown(setting, defaults[name]) != NotImplemented


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("body_bytes_max", limits.BODY_BYTES_MAX),
        ("body_inflated_bytes_max", BODY_INFLATED_BYTES_MAX),
        ("queue_bytes_max", limits.QUEUE_BYTES_MAX),
        ("commit_bytes_max", limits.COMMIT_BYTES_MAX),
        ("commit_wait_ms", limits.COMMIT_WAIT_MS),
        ("process_events_max", SEGMENT_EVENTS_MAX),
    ],
)
def test_the_defaults_are_the_limits_of_the_design(name: str, limit: int) -> None:
    assert catalogue()[name].default == limit


def test_a_password_is_hidden_whole(tmp_path: Path) -> None:
    setting = catalogue()["smtp_password"]
    assert shown(setting, "p:a@ss://word") == "***"
    assert shown(setting, "") == ""
