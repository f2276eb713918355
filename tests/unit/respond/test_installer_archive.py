"""Archives of installers, and the texts in them."""

import configparser
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import IO

import pytest

from vedette.errors import BadRequestError, NotFoundError
from vedette.respond import installer_texts as texts
from vedette.respond.installer_archive import sensor_program, tar_gz, zipped
from vedette.respond.installer_texts import SensorSettings
from vedette.respond.installers import sensor_version

SETTINGS = SensorSettings(
    "https://edr.example:8443", "s%cret", 3, update_public_key="c2lnbmVyIG9mIHVwZGF0ZXM="
)


def read(archive: IO[bytes]) -> bytes:
    with archive:
        return archive.read()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A program in the place of the sensor's."""
    folder = tmp_path / "sensor"
    folder.mkdir()
    (folder / "__init__.py").write_text('SENSOR_VERSION = "9.8.7"\n')
    (folder / "__main__.py").write_text(
        "from . import SENSOR_VERSION\n\n\ndef main(args):\n    print(SENSOR_VERSION, *args)\n"
    )
    return folder


def test_the_sensor_is_one_file_that_python_runs(package: Path, tmp_path: Path) -> None:
    program = tmp_path / "sensor.pyz"
    program.write_bytes(sensor_program(package))
    command = [sys.executable, "-I", program, "version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "9.8.7 version\n"
    assert sensor_version(package) == "9.8.7"


def test_the_same_content_gives_the_same_bytes(package: Path) -> None:
    assert sensor_program(package) == sensor_program(package)
    members = {"a": b"x" * 5_000, "b": b"y"}
    made = [read(tar_gz("f", members, ("a",))) for _ in range(2)]
    assert made[0] == made[1]
    made = [read(zipped(members, "p.msi", [b"z"])) for _ in range(2)]
    assert made[0] == made[1]


def test_a_server_without_the_sensor_says_so(tmp_path: Path) -> None:
    assert sensor_version(tmp_path) == ""
    with pytest.raises(NotFoundError, match="without the Linux sensor"):
        sensor_program(tmp_path)


def test_secrets_in_a_tar_are_for_root_alone() -> None:
    content = read(tar_gz("f", {"run.sh": b"", "settings": b""}, ("run.sh",)))
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        modes = {member.name: member.mode for member in archive}
    assert modes == {"f/run.sh": 0o755, "f/settings": 0o600}


def test_a_package_in_pieces_is_whole_in_the_zip() -> None:
    pieces = [bytes([n]) * 100_000 for n in range(30)]
    archive = zipfile.ZipFile(io.BytesIO(read(zipped({}, "p.msi", iter(pieces)))))
    assert archive.testzip() is None
    assert archive.read("p.msi") == b"".join(pieces)


def test_settings_are_read_back_as_they_were_given() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(texts.settings_text(SETTINGS, "/var/lib/x"))
    assert dict(parser["sensor"]) == {
        "server_url": "https://edr.example:8443",
        "group_secret": "s%cret",
        "group_id": "3",
        "ca_pem_file": "ca.pem",
        "data_dir": "/var/lib/x",
        "update_public_key": SETTINGS.update_public_key,
    }


@pytest.mark.parametrize("url", ["https://a\ndata_dir = /etc", "https://a ", "https://a\x00"])
def test_a_value_that_would_write_other_settings_is_refused(url: str) -> None:
    with pytest.raises(BadRequestError):
        texts.settings_text(SensorSettings(url, "s", 1), "/x")


@pytest.mark.parametrize(
    "script",
    [
        texts.linux_script("sensor.pyz"),
        texts.osx_script("sensor.pkg", "https://edr.example:8443/vedette"),
    ],
)
def test_a_shell_script_is_one_and_nothing_is_left_to_fill_in(script: str) -> None:
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert "$$" not in script


def test_a_windows_script_names_package_and_host() -> None:
    script = texts.windows_script("sensor.msi", "msi", "https://edr.example:8443/vedette")
    assert "sensor.msi" in script
    assert "--tls_hostname=edr.example:8443" in script
    assert "--enroll_tls_endpoint=/vedette/osquery/enroll" in script
    assert "$$" not in script


def test_the_unit_starts_the_program_by_the_name_of_the_group() -> None:
    assert "/usr/lib/vedette-sensor/quiet.pyz --settings" in texts.unit_text("quiet.pyz")
