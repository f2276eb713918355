"""Builds what operators install: a wheel, and a Debian package with everything it runs on.

    python -m scripts.package [DIRECTORY]      # default: dist

The Debian package holds the libraries of `requirements/runtime.txt` as `pip --require-hashes` put
them into this environment, file by file as their records list them, under `/opt/vedette`; Python
itself is Debian's. Nothing is downloaded, here or at installation. The same source and libraries
make the same bytes: times are that of the last commit (or SOURCE_DATE_EPOCH), owners are root.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, PackagePath, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy" / "debian"
PYTHON = "python3.11"
SITE = Path("opt/vedette/lib") / PYTHON / "site-packages"
EXECUTABLE = ("usr/bin/vedette", "DEBIAN/postinst", "DEBIAN/prerm", "DEBIAN/postrm")
_SCRIPTS = ("postinst", "prerm", "postrm", "conffiles")
_PIN = re.compile(r"^([\w.-]+)(?:\[[^\]]*\])?==([^\s\\]+)", re.M)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    out.mkdir(parents=True, exist_ok=True)
    product = wheel(out)
    print(product)
    print(debian_package(out, "zstd", product=product))


def pins() -> dict[str, str]:
    """Versions of the libraries, by name."""
    return dict(_PIN.findall((ROOT / "requirements" / "runtime.txt").read_text()))


def is_installed() -> bool:
    """Whether every library is here in its pinned version."""
    try:
        return all(distribution(name).version == version for name, version in pins().items())
    except PackageNotFoundError:
        return False


def wheel(out: Path) -> Path:
    """Builds the wheel from the files of the product alone, so that nothing else gets in."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        for name in ("pyproject.toml", "README.md"):
            source.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "vedette", source / "vedette", ignore=ignored)
        _run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--disable-pip-version-check",
            "--wheel-dir",
            str(out),
            str(source),
        )
    return max(out.glob("vedette-*.whl"), key=lambda path: path.stat().st_mtime)


def debian_package(
    out: Path,
    compression: str,
    libraries: Iterable[str] | None = None,
    product: Path | None = None,
) -> Path:
    """Builds the package. `libraries`: the names of some, all by default; `compression` is one
    of dpkg-deb's; `product` is a wheel that was built already."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        _add_libraries(tree / SITE, pins().keys() if libraries is None else libraries)
        built = product or wheel(Path(scratch))
        version = built.name.split("-")[1]
        with zipfile.ZipFile(built) as archive:
            archive.extractall(tree / SITE)
        _add_files(tree, version)
        _settle(tree)
        file = out / f"vedette_{version}_{_machine()}.deb"
        _run(
            "dpkg-deb",
            "--build",
            "--root-owner-group",
            f"-Z{compression}",
            "--threads-max=1",
            str(tree),
            str(file),
        )
    return file


def _add_libraries(site: Path, names: Iterable[str]) -> None:
    wanted = pins()
    recorded: dict[str, list[PackagePath]] = {}
    for name in names:
        found = distribution(name)
        if found.version != wanted[name]:
            raise SystemExit(f"{name} is {found.version} here, pinned is {wanted[name]}: run make")
        for place, file in _files(found):
            recorded.setdefault(place, []).append(file)
    for place, files in recorded.items():
        target = site / place
        target.parent.mkdir(parents=True, exist_ok=True)
        source = Path(str(files[0].locate()))
        # Of a file that two libraries bring, the one that was installed later is there.
        if place.endswith(".dist-info/RECORD") or any(_is_recorded(source, one) for one in files):
            shutil.copyfile(source, target)
        else:
            raise SystemExit(f"{source} is not the file that was installed")


def _files(found: Distribution) -> Iterator[tuple[str, PackagePath]]:
    """What a library's record lists, without what is not of the library alone: compiled modules
    and commands, which name this machine."""
    for file in found.files or ():
        place = file.as_posix()
        is_record = place.endswith(".dist-info/RECORD")
        if is_record or (file.hash is not None and not place.startswith("..")):
            yield place, file


def _is_recorded(source: Path, file: PackagePath) -> bool:
    if file.hash is None:
        return False
    digest = hashlib.new(file.hash.mode, source.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value


def _add_files(tree: Path, version: str) -> None:
    """What is not a library: command, unit, settings, and the scripts of the package."""
    home = tree / "opt/vedette"
    (home / "bin").mkdir(parents=True)
    (home / "bin/python3").symlink_to(f"/usr/bin/{PYTHON}")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    for source, place in (
        (DEPLOY / "vedette", "usr/bin/vedette"),
        (DEPLOY / "vedette.toml", "etc/vedette/vedette.toml"),
        (ROOT / "deploy/systemd/vedette.service", "lib/systemd/system/vedette.service"),
        (ROOT / "README.md", "usr/share/doc/vedette/README.md"),
        *(
            (DEPLOY / name, f"DEBIAN/{name}")
            for name in ("postinst", "prerm", "postrm", "conffiles")
        ),
    ):
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, tree / place)
    size_kib = sum(path.lstat().st_size for path in tree.rglob("*")) // 1024
    control = (DEPLOY / "control").read_text()
    (tree / "DEBIAN/control").write_text(
        control.replace("@VERSION@", version)
        .replace("@ARCHITECTURE@", _machine())
        .replace("@SIZE@", str(size_kib))
    )


def _settle(tree: Path) -> None:
    """The same modes and times, whoever builds it and when."""
    moment = _epoch()
    for path in sorted(tree.rglob("*"), reverse=True):
        if not path.is_symlink():
            is_program = path.is_dir() or str(path.relative_to(tree)) in EXECUTABLE
            path.chmod(0o755 if is_program else 0o644)
        os.utime(path, (moment, moment), follow_symlinks=False)
    tree.chmod(0o755)
    os.utime(tree, (moment, moment))


def _epoch() -> int:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    asked = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    # Without a repository: a time that every archive format can hold.
    return int(asked.stdout.strip() or 315_619_200)


def _machine() -> str:
    asked = subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
    )
    return asked.stdout.strip()


def _run(*command: str) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(_epoch()), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
