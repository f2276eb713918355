"""Installers over HTTP: what is in them, and what is said where there is none."""

import configparser
import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.archives import unpack
from tests.support.sensor import secret_of
from tests.support.served import Server, blobs_of, open_group, state_of
from vedette.clock import SystemClock
from vedette.errors import BadRequestError
from vedette.respond.installer_texts import linux_script, osx_script, windows_script
from vedette.respond.package_files import add_installer, remove_installer
from vedette.state.policy import groups
from vedette.state.policy.groups import GroupChanges
from vedette.state.sensors import installers
from vedette.state.sensors.update_signing import update_public_key

LINUX = "/api/v1/group/1/installer/linux"
MSI = "/api/v1/group/1/installer/windows/msi"
PACKAGE = b"signed package" * 100_000


@contextmanager
def package(server: Server, folder: Path, os: str, kind: str) -> Iterator[installers.Installer]:
    path = folder / f"osquery-5.{kind}"
    path.write_bytes(PACKAGE)
    with state_of(server) as database:
        new = installers.NewInstaller(os, kind, "5.12.1")
        blobs = blobs_of(server)
        made = add_installer(database, blobs, path, new, SystemClock().now_us())
        yield made
        remove_installer(database, blobs, made.id)


@pytest.fixture
def registered(server: Server, tmp_path: Path) -> Iterator[installers.Installer]:
    with package(server, tmp_path, "windows", "msi") as made:
        yield made


def settings_in(text: bytes) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text.decode())
    return dict(parser["sensor"])


@pytest.mark.parametrize("path", ["windows/exe", "windows/msi", "osx"])
def test_without_a_registered_package_the_answer_says_how(analyst: httpx.Client, path: str) -> None:
    answer = analyst.get(f"/api/v1/group/1/installer/{path}")
    assert answer.status_code == 404
    assert "vedette installer add" in answer.json()["message"]


def test_a_zip_carries_the_package_with_the_settings_of_the_group(
    server: Server, analyst: httpx.Client, registered: installers.Installer
) -> None:
    answer = analyst.get(MSI)
    assert answer.headers["content-type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.testzip() is None
    assert archive.read("sensor.msi") == PACKAGE
    settings = settings_in(archive.read("sensorsettings.ini"))
    assert (settings["server_url"], settings["group_id"]) == (server.url, "1")
    assert settings["group_secret"] == secret_of(server)
    assert archive.read(settings["ca_pem_file"]) == server.certificate.read_bytes()
    script = archive.read("install.ps1").decode()
    assert f"--tls_hostname={server.url.removeprefix('https://')}" in script
    assert "sensor.msi" in script
    assert analyst.get(MSI).content == answer.content
    assert "5.12.1" in str(analyst.get("/api/v2/builds").json()["Windows"])


def test_clients_see_an_os_x_installer_once_a_package_is_registered(
    server: Server, analyst: httpx.Client, tmp_path: Path
) -> None:
    assert analyst.get("/api/info").json()["osxInstallerExists"] is False
    with package(server, tmp_path, "osx", "pkg"):
        assert analyst.get("/api/info").json()["osxInstallerExists"] is True
    assert analyst.get("/api/info").json()["linuxInstallerExists"] is True


def test_a_group_has_its_own_package_and_secret(
    server: Server, analyst: httpx.Client, registered: installers.Installer, tmp_path: Path
) -> None:
    group_id, _ = open_group(server, "own package")
    path = tmp_path / "own.msi"
    path.write_bytes(b"own")
    with state_of(server) as database:
        new = installers.NewInstaller("windows", "msi", "1", group_id)
        add_installer(database, blobs_of(server), path, new, SystemClock().now_us())
    answer = analyst.get(f"/api/v1/group/{group_id}/installer/windows/msi")
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.read("sensor.msi") == b"own"
    assert archive.read("enrolment.secret").decode() == secret_of(server, group_id)
    assert secret_of(server, group_id) != secret_of(server)


def test_a_host_header_that_would_write_settings_is_refused(analyst: httpx.Client) -> None:
    answer = analyst.get(LINUX, headers={"Host": "a b"})
    assert answer.status_code == 400


def test_the_linux_installer_holds_a_sensor_that_runs(
    server: Server, analyst: httpx.Client, tmp_path: Path
) -> None:
    answer = analyst.get(LINUX)
    assert answer.headers["content-type"] == "application/gzip"
    assert analyst.get(LINUX).content == answer.content
    unpack(answer.content, tmp_path)
    folder = tmp_path / "vedette-sensor"
    settings = settings_in((folder / "sensorsettings.ini").read_bytes())
    assert settings["group_secret"] == secret_of(server)
    done = subprocess.run(
        [sys.executable, "-I", folder / "vedette-sensor.pyz", "version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() in str(analyst.get("/api/v2/builds").json()["Linux"])


def test_the_linux_installer_installs_below_a_folder_and_goes_again(
    analyst: httpx.Client, tmp_path: Path
) -> None:
    unpack(analyst.get(LINUX).content, tmp_path)
    root = tmp_path / "root"
    root.mkdir()
    script, environment = tmp_path / "vedette-sensor" / "install.sh", {"DESTDIR": str(root)}
    path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    subprocess.run(["sh", script], env=environment | path, check=True)
    program = root / "usr/lib/vedette-sensor/vedette-sensor.pyz"
    unit = root / "etc/systemd/system/vedette-sensor.service"
    settings = root / "etc/vedette-sensor/sensorsettings.ini"
    assert program.stat().st_mode & 0o777 == 0o755
    assert settings.stat().st_mode & 0o777 == 0o600
    assert "/usr/lib/vedette-sensor/vedette-sensor.pyz" in unit.read_text()
    subprocess.run(["sh", script, "uninstall"], env=environment | path, check=True)
    assert [one for one in root.rglob("*") if one.is_file()] == []


@pytest.mark.parametrize(
    "server_url",
    [
        "https://x$(touch /tmp/pwned)",
        "https://x`id`",
        "https://x:1/a;b",
        "https://x/'$y'",
        "https://x.example:65536",
    ],
)
def test_an_address_that_a_shell_could_expand_makes_no_installer(
    server: Server, analyst: httpx.Client, server_url: str
) -> None:
    group_id, _ = open_group(server, f"shell {server_url[9:]}")
    path = f"/api/v1/group/{group_id}"
    refused = analyst.put(path, json={"sensorbackend_server": server_url})
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("sensorbackend_server: ")
    with state_of(server) as database:  # as an older version took it
        groups.change(database, group_id, GroupChanges(sensorbackend_server=server_url))
    assert analyst.get(f"{path}/installer/linux").status_code == 400


def test_no_value_of_an_installer_is_expanded_by_a_shell() -> None:
    address = "https://host:8443"
    for script in (osx_script("sensor.pkg", address), windows_script("s.msi", "msi", address)):
        assert "<<FLAGS" not in script
        assert '@"' not in script
    for wrong in ("a b", "$(id)", "x'y", "`id`", ""):
        with pytest.raises(BadRequestError):
            osx_script("sensor.pkg", f"https://host/{wrong}" if wrong else "")
        with pytest.raises(BadRequestError):
            linux_script(wrong)


@pytest.mark.parametrize(("os", "kind"), [("windows", "msi"), ("osx", "pkg")])
def test_osquery_asks_below_the_path_of_the_groups_address(
    server: Server, analyst: httpx.Client, tmp_path: Path, os: str, kind: str
) -> None:
    """A proxy may have this server below a path; the Linux sensor goes there as well."""
    group_id, _ = open_group(server, f"below a path {os}")
    wanted = {"sensorbackend_server": "https://proxy.example:8443/edr/one/"}
    assert analyst.put(f"/api/v1/group/{group_id}", json=wanted).status_code == 200
    place = "windows/msi" if os == "windows" else os
    with package(server, tmp_path, os, kind):
        answer = analyst.get(f"/api/v1/group/{group_id}/installer/{place}")
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    name = next(one for one in archive.namelist() if one.startswith("install."))
    flags = [one for one in archive.read(name).decode().splitlines() if one.startswith("--")]
    assert "--tls_hostname=proxy.example:8443" in flags
    asked = [one.partition("=")[2] for one in flags if "_endpoint=" in one]
    assert len(asked) == 5
    assert all(one.startswith("/edr/one/osquery/") for one in asked)


def test_an_installer_carries_the_key_that_signs_updates(
    server: Server, analyst: httpx.Client, tmp_path: Path
) -> None:
    unpack(analyst.get(LINUX).content, tmp_path)
    text = (tmp_path / "vedette-sensor" / "sensorsettings.ini").read_bytes()
    with state_of(server) as database:
        assert settings_in(text)["update_public_key"] == update_public_key(database)


@pytest.mark.parametrize(
    ("host", "is_warned"),
    [
        ("127.0.0.1:8443", True),
        ("localhost", True),
        ("[::1]:8443", True),
        ("edr.example:8443", False),
        ("192.0.2.7", False),
    ],
)
def test_an_installer_that_names_loopback_warns(
    analyst: httpx.Client, host: str, is_warned: bool
) -> None:
    answer = analyst.get("/api/group/1/installer/linux", headers={"Host": host})
    assert answer.status_code == 200, answer.text
    assert ("own host only" in answer.headers.get("warning", "")) is is_warned
