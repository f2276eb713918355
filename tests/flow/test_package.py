"""The Debian package: what is in it, that it is the same whoever builds it, and that it runs on a
machine that has nothing else of ours, as its own user, without root."""

import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scripts import package
from tests.support.systemd_machine import NO_OVERLAY, unit_started

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy/systemd/vedette.service"
USER = "990:990"
OURS = {".py", ".yml", ".html", ".css", ".js", ".mako", ".json"}

needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb")
needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="needs systemd-analyze"
)
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare") or not Path("/usr/bin/python3.11").exists(),
    reason="needs root, unshare and Debian's Python",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel. Only whether two of them are the same takes building more."""
    return package.wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Iterator[Path]:
    """The files of the package with all libraries, and its scripts in DEBIAN. It is not
    compressed, which would take a minute."""
    if not package.is_installed():
        pytest.skip("the libraries here are not those that are pinned")
    dist = tmp_path_factory.mktemp("dist")
    built = package.debian_package(dist, "none", product=wheel)
    tree = dist / "tree"
    subprocess.run(["dpkg-deb", "-R", str(built), str(tree)], check=True)
    built.unlink()
    yield tree
    shutil.rmtree(dist)


@pytest.fixture(scope="module")
def installed(unpacked: Path) -> Path:
    """The same files as `postinst` leaves them: compiled. Else each process that starts compiles
    all of its modules, for nobody."""
    python = unpacked / "opt/vedette/bin/python3"
    words = [python, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*words, unpacked / "opt/vedette/lib"], check=False, capture_output=True)
    assert list((unpacked / package.SITE / "vedette").rglob("*.pyc"))
    return unpacked


FEW = ["xxhash", "typer"]
"""Libraries of a package that is built and installed quickly."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A package of few libraries."""
    return package.debian_package(tmp_path_factory.mktemp("small"), "gzip", FEW, wheel)


def plain(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


@needs_dpkg
def test_it_holds_every_library_and_nothing_of_the_machine_that_built_it(unpacked: Path) -> None:
    site = unpacked / package.SITE
    found = {plain(one.stem.rpartition("-")[0]) for one in site.glob("*.dist-info")}
    assert {plain(one) for one in package.pins()} <= found
    here = str(ROOT).encode()
    for place in ("usr", "etc", "lib", "DEBIAN", str(package.SITE / "vedette")):
        for path in (unpacked / place).rglob("*"):
            if path.is_file():
                assert here not in path.read_bytes(), path
    assert not list(unpacked.rglob("direct_url.json"))
    assert not list(unpacked.rglob("*.pyc"))


@needs_dpkg
@needs_root
def test_it_runs_as_its_own_user_on_a_file_system_that_it_cannot_write(
    installed: Path, tmp_path: Path
) -> None:
    ran = in_a_machine_of_its_own(installed, tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for line in ("uid 990", "cannot write /opt", "it answers", "it ended in order"):
        assert line in ran.stdout, ran.stdout + ran.stderr
    assert (tmp_path / "root/var/lib/vedette/state.db").stat().st_uid == 990


RUN = """
set -e
echo uid $(id -u)
touch /opt/vedette/lib/here 2>/dev/null || echo cannot write /opt
vedette config check --set listen_port=0
vedette serve --port 0 >/var/lib/vedette/first-start.txt 2>/var/lib/vedette/log &
server=$!
n=0
until [ -e /var/lib/vedette/server.json ]; do
    n=$((n + 1)); [ $n -lt 90 ] || { cat /var/lib/vedette/log; exit 1; }
    kill -0 $server || { cat /var/lib/vedette/log; exit 1; }
    sleep 1
done
vedette completeness show && echo it answers
kill $server; wait $server && echo it ended in order
"""


def in_a_machine_of_its_own(unpacked: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs `RUN` as the package's user in a root that holds Debian's /usr and the package, all of
    it read-only but for the places that the unit leaves open."""
    root = directory / "root"
    for place in ("usr", "opt", "etc/vedette", "tmp", "var/lib/vedette", "dev", "proc"):
        (root / place).mkdir(parents=True)
    os.chown(root / "var/lib/vedette", 990, 990)
    (root / "var/lib/vedette").chmod(0o700)
    for name in ("lib", "lib64", "bin"):
        (root / name).symlink_to(f"usr/{name}")
    shutil.copy(unpacked / "etc/vedette/vedette.toml", root / "etc/vedette")
    (root / "etc/passwd").write_text("vedette:x:990:990::/var/lib/vedette:/usr/sbin/nologin\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    for name in ("null", "urandom"):
        (root / "dev" / name).touch()
    setup = f"""
set -e
mount --bind {root} {root}
mount --bind /usr {root}/usr
mount --bind {unpacked}/opt {root}/opt
mount --bind {root}/var/lib/vedette {root}/var/lib/vedette
mount -t tmpfs -o mode=1777 none {root}/tmp
mount -t proc none {root}/proc
for name in null urandom; do mount --bind /dev/$name {root}/dev/$name; done
mkdir {root}/tmp/bin
cp {unpacked}/usr/bin/vedette {root}/tmp/bin
for place in usr opt .; do mount -o remount,bind,ro {root}/$place; done
exec setpriv --no-new-privs chroot --userspec={USER} {root} /usr/bin/env -i \\
    PATH=/tmp/bin:/usr/bin:/bin HOME=/var/lib/vedette VEDETTE_STARTER_RULES=false \\
    /bin/sh -c "$0"
"""
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", setup, RUN],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd="/",
    )


INSTALL = """
set -e
dpkg -i /package.deb
dpkg --verify vedette
getent passwd vedette
stat -c '%n %U:%G %a' /var/lib/vedette /etc/vedette/vedette.toml
echo '# ours' >>/etc/vedette/vedette.toml
touch /var/lib/vedette/evidence
dpkg -i /package.deb
grep '# ours' /etc/vedette/vedette.toml
dpkg -r vedette
test -e /etc/vedette/vedette.toml && test ! -e /opt/vedette && echo removed but for settings
dpkg -P vedette
test ! -e /etc/vedette && test -e /var/lib/vedette/evidence && echo purged but for evidence
dpkg --audit
"""


@needs_dpkg
@needs_root
def test_it_is_installed_upgraded_removed_and_purged_by_dpkg(small: Path, tmp_path: Path) -> None:
    """In a copy of this machine's root whose changes are lost. With few libraries, which is quick;
    the test before this one runs it with all."""
    setup = f"""
set -e
mount -t tmpfs -o size=512m none {tmp_path}
mkdir {tmp_path}/changes {tmp_path}/work {tmp_path}/root
mount -t overlay overlay {tmp_path}/root \\
    -o lowerdir=/,upperdir={tmp_path}/changes,workdir={tmp_path}/work || exit 77
mount -t proc none {tmp_path}/root/proc
mount --rbind /dev {tmp_path}/root/dev
cat >{tmp_path}/root/package.deb
exec chroot {tmp_path}/root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /bin/sh -c "$0"
"""
    with small.open("rb") as package_file:
        ran = subprocess.run(
            ["unshare", "--mount", "--pid", "--net", "--fork", "sh", "-c", setup, INSTALL],
            stdin=package_file,
            capture_output=True,
            timeout=300,
            check=False,
            cwd="/",
        )
    said = ran.stdout.decode() + ran.stderr.decode()
    if ran.returncode == 77:
        pytest.skip(f"this kernel lays no file system over another: {said}")
    assert ran.returncode == 0, said
    for line in (
        "/var/lib/vedette vedette:vedette 700",
        "/etc/vedette/vedette.toml root:vedette 640",
        "# ours",
        "removed but for settings",
        "purged but for evidence",
    ):
        assert line in said, said
    assert "/var/lib/vedette:/usr/sbin/nologin" in said


@needs_dpkg
def test_it_is_the_same_to_the_byte_whoever_builds_it_and_when(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with a wheel of his own."""
    (tmp_path / "two").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "two"))
    monkeypatch.setattr("tempfile.tempdir", None)
    time.sleep(1.1)  # times in archives are whole seconds
    before = os.umask(0o077)
    try:
        again = package.debian_package(tmp_path / "two", "gzip", FEW)
    finally:
        os.umask(before)
    assert again.read_bytes() == small.read_bytes()
    listed = subprocess.run(["dpkg-deb", "-c", again], capture_output=True, text=True, check=True)
    assert all(" root/root " in line for line in listed.stdout.splitlines())


@needs_dpkg
def test_the_wheel_holds_the_product_and_what_it_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    product = [one for one in (ROOT / "vedette").rglob("*") if one.suffix in OURS]
    wanted = {str(one.relative_to(ROOT)) for one in product} | {"vedette/py.typed"}
    assert wanted <= names, wanted - names
    assert not [name for name in names if name.startswith("tests/")]


def unit_in(directory: Path, change: tuple[str, str] = ("", "")) -> Path:
    """The unit with programs that are there, as `systemd-analyze` asks for."""
    here = directory / "vedette.service"
    here.write_text(
        re.sub(r"=/usr/bin/vedette .*", "=/bin/true", UNIT.read_text()).replace(*change)
    )
    return here


def analyzed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@needs_systemd
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    good = analyzed("verify", "--man=no", str(unit_in(tmp_path)))
    assert good.returncode == 0, good.stderr
    assert "vedette.service" not in good.stderr
    misspelt = unit_in(tmp_path, ("ProtectSystem=", "ProtectSystems="))
    assert "ProtectSystems" in analyzed("verify", "--man=no", str(misspelt)).stderr


@needs_dpkg
@needs_root
@pytest.mark.skipif(not Path("/lib/systemd/systemd").exists(), reason="needs systemd")
def test_the_unit_runs_unchanged_under_systemd(installed: Path, tmp_path: Path) -> None:
    """With its own devices, its capability alone and nothing to write but its data; the event loop
    has its priority there, too."""
    status, reported = unit_started(installed, tmp_path)
    if status == NO_OVERLAY:
        pytest.skip(f"this kernel lays no file system over another: {reported}")
    assert status == 7, reported
    for line in (
        "ActiveState=active",
        "NRestarts=0",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "CapEff:\t0000000000800000",  # CAP_SYS_NICE
        "cannot write /opt",
        "cannot write /etc",
        "it answers",
        "Result=success",
        "ExecMainStatus=0",
    ):
        assert line in reported, reported
    (devices,) = re.findall("^devices (.*)", reported, re.M)
    assert {"null", "urandom"} <= set(devices.split())
    assert not {"kmsg", "mem", "port", "vda"} & set(devices.split())
    assert "Uid:\t0" not in reported
    if os.nice(0) == 0:  # who runs the tests more nicely gives that to the unit
        assert "has no priority" not in reported


def test_the_unit_runs_nothing_that_a_bare_system_lacks() -> None:
    """kill(1) is such a program: it is in procps, which nothing of ours depends on."""
    programs = set(re.findall(r"^Exec\w+=(\S+)", UNIT.read_text(), re.M))
    assert programs == {"/usr/bin/vedette", "/bin/sh"}


@needs_systemd
def test_the_unit_is_hardened(tmp_path: Path) -> None:
    ran = analyzed("security", "--offline=true", "--threshold=30", str(unit_in(tmp_path)))
    assert ran.returncode == 0, ran.stdout[-1_500:] + ran.stderr


def test_the_container_runs_without_root_on_a_file_system_that_is_read_only() -> None:
    compose = yaml.safe_load((ROOT / "deploy/docker/compose.yaml").read_text())
    service = compose["services"]["vedette"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    recipe = ROOT / service["build"]["dockerfile"]
    assert recipe.read_text().rindex("USER vedette") > recipe.read_text().rindex("FROM ")


@pytest.mark.parametrize("name", ["postinst", "prerm", "postrm", "vedette"])
def test_its_scripts_are_ones_that_a_plain_shell_reads(name: str) -> None:
    subprocess.run(["sh", "-n", str(ROOT / "deploy/debian" / name)], check=True)


@needs_dpkg
def test_a_library_that_was_changed_after_its_installation_is_not_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "xxhash-9.dist-info").mkdir(parents=True)
    (site / "xxhash-9.dist-info/METADATA").write_text("Name: xxhash\nVersion: 9\n")
    (site / "xxhash-9.dist-info/RECORD").write_text("xxhash.py,sha256=AAAA,3\n")
    (site / "xxhash.py").write_text("bad")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    monkeypatch.setattr(package, "pins", lambda: {"xxhash": "9"})
    with pytest.raises(SystemExit, match="is not the file that was installed"):
        package.debian_package(tmp_path, "none")
