"""`vedette backup` and `vedette restore`: copies of a server in a directory or a bucket.

A running server takes a snapshot of itself. This process reads the snapshot's files, so that the
server keeps its cores for telemetry. The files of a stopped server are read directly, under its
lock.
"""

import fcntl
import os
import re
import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Final

import httpx
import typer

import vedette
from vedette.backup.cipher import Cipher, read_key, write_key
from vedette.backup.repository import Progress, Repository
from vedette.backup.snapshots import DRAFT, FOLDER, STATE_FILE, TELEMETRY
from vedette.blobs.blob_store import BlobStore
from vedette.blobs.local_directory import LocalDirectory
from vedette.bootstrap.local_access import LocalAccess, read_access
from vedette.cli.options import (
    ConfigOption,
    DataOption,
    load_settings,
    local_headers,
    operator,
)
from vedette.cli.printing import print_table, time_text
from vedette.clock import SystemClock
from vedette.errors import BadRequestError, UnavailableError
from vedette.file_tree import matching
from vedette.limits import Limit
from vedette.state.accounts.audit_note import note_in
from vedette.state.db.audit_log import Entry
from vedette.store.engine.directory_lock import directory_lock

BACKUP_DEADLINE_S: Limit[int] = 600
"""Timeout of a backup request (s): a snapshot of millions of files takes minutes."""


app = typer.Typer(no_args_is_help=True)

_BUCKET: Final = re.compile(r"s3://([^/]+)/?(.*)")


def _target(text: str) -> str:
    """Returns a bucket URL unchanged, or the absolute path of a directory."""
    return text if _BUCKET.fullmatch(text) else str(Path(text).absolute())


TargetArgument = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="Directory or s3://bucket/prefix.", parser=_target),
]
KeyOption = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="Key of encrypted backups.")
]
EndpointOption = Annotated[str, typer.Option(metavar="URL", help="S3 endpoint; default: Amazon.")]
RegionOption = Annotated[str, typer.Option(help="Region of the bucket.")]
CredentialsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Bucket credentials in AWS format.")
]

_READER: Final = ".reader"
"""Suffix of a lock file next to a snapshot, which a command holds while it takes and reads the
snapshot."""

_UNLOCKED: Final = ".unlocked"
"""Suffix of the lock file before it is locked."""

_NOT_COPIED: Final = frozenset({FOLDER, "server.json", "server.log"})


@app.command("create")
def create(
    target: TargetArgument,
    key: KeyOption = None,
    endpoint: EndpointOption = "",
    region: RegionOption = "us-east-1",
    credentials: CredentialsOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Back up a server, running or stopped. Copies only what no earlier backup has."""
    settings = load_settings(data, config).settings
    if settings.clickhouse_dsn or settings.state_dsn:
        raise BadRequestError(
            "telemetry or state of this server are not in its data directory: back up the "
            "ClickHouse cluster and PostgreSQL with their own tools, telemetry first"
        )
    is_local = _BUCKET.fullmatch(target) is None
    if is_local and Path(target).resolve().is_relative_to(settings.data.resolve()):
        raise BadRequestError(
            f"{target} is in the data directory: backups would be lost with it, and each would "
            "hold those before it; name a place outside"
        )
    repository = _repository(target, key, endpoint, region, credentials)
    copied = [0, 0]

    def note(done: Progress) -> None:
        copied[0] += done.is_new
        copied[1] += done.size if done.is_new else 0

    details = {"place": target, "encrypted": key is not None}
    with _source(settings.data, Entry("run", "backup", target, after=details)) as source:
        made_us = SystemClock().now_us()
        with _naming_what_is_unreadable():
            made = repository.create(source, made_us, vedette.__version__, note, _NOT_COPIED)
        details = details | {"files": made.files, "bytes": made.size}
        _note(settings.data, Entry("create", "backup", made.id[:12], after=details))
    typer.echo(
        f"backup {made.id[:12]}: {made.files} files, {made.size / 1e6:,.1f} MB; "
        f"new {copied[0]} files, {copied[1] / 1e6:,.1f} MB"
    )


@app.command("list")
def list_backups(
    target: TargetArgument,
    key: KeyOption = None,
    endpoint: EndpointOption = "",
    region: RegionOption = "us-east-1",
    credentials: CredentialsOption = None,
) -> None:
    """List the backups in a place, oldest first."""
    found = _repository(target, key, endpoint, region, credentials).backups()
    print_table(
        ("backup", "made", "files", "MB"),
        [
            (one.id[:12], time_text(one.made_us), one.files, f"{one.size / 1e6:,.1f}")
            for one in found
        ],
    )


@app.command("verify")
def verify(
    target: TargetArgument,
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="Default: the newest.")] = "",
    key: KeyOption = None,
    endpoint: EndpointOption = "",
    region: RegionOption = "us-east-1",
    credentials: CredentialsOption = None,
) -> None:
    """Read a whole backup and check every byte."""
    repository = _repository(target, key, endpoint, region, credentials)
    name = repository.find(backup)
    typer.echo(f"backup {name[:12]} is intact: {repository.verify(name)} files")


@app.command("forget")
def forget(
    target: TargetArgument,
    keep: Annotated[int, typer.Option(min=1, help="Number of newest backups to keep.")],
    key: KeyOption = None,
    endpoint: EndpointOption = "",
    region: RegionOption = "us-east-1",
    credentials: CredentialsOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Delete old backups. Run it while no backup is made in that place. Writes an entry to the
    audit log of the server in --data, if there is one."""
    repository = _repository(target, key, endpoint, region, credentials)
    place = load_settings(data, config).settings.data
    if (place / STATE_FILE).exists():
        _note(place, Entry("delete", "backup", target, before={"kept": keep}))
    gone = repository.forget(keep)
    typer.echo(f"removed {gone} backups")


@app.command("key")
def make_key(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="New file, readable by its owner only.")
    ],
) -> None:
    """Create a key. Without the key, encrypted backups are lost: store it elsewhere."""
    write_key(file)
    typer.echo(f"wrote {file}: store a copy apart from the backups")


def restore(
    target: TargetArgument,
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="Default: the newest.")] = "",
    key: KeyOption = None,
    endpoint: EndpointOption = "",
    region: RegionOption = "us-east-1",
    credentials: CredentialsOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a data directory again from a backup, every byte verified. It must not exist, or be
    empty. Its audit log has who did it."""
    place = load_settings(data, config).settings.data
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BadRequestError(f"{place} is not empty; set --data to a new directory")
    repository = _repository(target, key, endpoint, region, credentials)
    name = repository.find(backup)
    draft = place.with_name(f"{place.name}.restoring")
    if draft.exists():
        raise BadRequestError(
            f"{draft} is what an interrupted restore left, or another one is at work: remove it"
        )
    files = [0]

    def note(_done: Progress) -> None:
        files[0] += 1

    made = repository.restore(name, draft, note)
    details = {"place": target, "made": time_text(made.made_us), "directory": str(place.resolve())}
    _note(draft, Entry("run", "restore", name[:12], after=details))
    os.sync()  # a power failure after the response loses no file of it
    draft.replace(place)
    os.sync()
    typer.echo(f"restored backup {name[:12]} into {place}: {files[0]} files")
    typer.echo(f"start the server with vedette serve --data {place}")


@contextmanager
def _naming_what_is_unreadable() -> Iterator[None]:
    """Converts an OSError for a file or folder to UnavailableError that names it."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"no backup was made: {error.filename}: {error.strerror}") from None


@contextmanager
def _source(data: Path, begun: Entry) -> Iterator[Path]:
    """Yields a directory whose files do not change: a snapshot, or the data directory of a stopped
    server. Records the entry in its audit log."""
    access = read_access(data)
    if access is None:
        if not (data / "state.db").exists():
            raise BadRequestError(f"no server data in {data}; set --data")
        with directory_lock(data / TELEMETRY.parent):
            _note(data, begun)
            yield data
        return
    with _client(access) as client:
        folder = _snapshot_folder(data)
        _remove_abandoned(client, folder)
        _note(data, begun)
        with _marked(folder) as mark:
            answer = _asked(client, "POST", f"/api/v1/backup/snapshot?id={mark.stem}")
            try:
                yield Path(str(answer["path"]))
            finally:
                _remove(client, mark)


def _snapshot_folder(data: Path) -> Path:
    """Returns the folder of snapshots. Creates it for the server's account if it does not exist."""
    folder = data / FOLDER
    if not folder.is_dir():
        folder.mkdir(mode=0o700, exist_ok=True)
        owner = data.stat()
        os.chown(folder, owner.st_uid, owner.st_gid, follow_symlinks=False)
    return folder


@contextmanager
def _marked(folder: Path) -> Iterator[Path]:
    """Yields the locked lock file of a snapshot that is about to be taken. If this process is
    killed, the next command recognizes the snapshot as abandoned."""
    mark = folder / f"{secrets.token_hex(8)}{_READER}"
    draft = mark.with_suffix(_UNLOCKED)  # not visible under its final name before it is locked
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        draft.rename(mark)
        try:
            yield mark
        finally:
            if not _is_there(mark):
                mark.unlink(missing_ok=True)


def _is_there(mark: Path) -> bool:
    """Returns whether a snapshot, complete or not, exists next to its lock file."""
    return mark.with_suffix("").is_dir() or mark.with_suffix(DRAFT).is_dir()


def _note(data: Path, entry: Entry) -> None:
    """Writes an entry to the audit log of a directory. Prints a warning instead of failing if the
    disk is full or the directory has an older version."""
    try:
        note_in(data, entry, operator())
    except UnavailableError as error:
        typer.echo(f"{data}: not in its audit log: {error.message}", err=True)


def _remove_abandoned(client: httpx.Client, folder: Path) -> None:
    """Deletes snapshots of commands that were killed, because a few of them exhaust the limit."""
    for mark in matching(folder, f"*{_READER}"):
        with suppress(FileNotFoundError), mark.open() as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # another command uses it
            if _is_there(mark):
                _remove(client, mark)
            else:
                mark.unlink(missing_ok=True)


def _client(access: LocalAccess) -> httpx.Client:
    context = ssl.create_default_context(cafile=access.certificate) if access.certificate else True
    return httpx.Client(
        base_url=access.url,
        verify=context,
        headers=local_headers(access),
        timeout=BACKUP_DEADLINE_S,
    )


def _asked(client: httpx.Client, method: str, path: str) -> dict[str, object]:
    """Sends a request and returns the body. Raises UnavailableError, also if the server ends
    meanwhile."""
    try:
        response = client.request(method, path)
        body = response.json()
    except (httpx.HTTPError, ValueError) as error:
        raise UnavailableError(f"the server cannot take a snapshot: {error}") from None
    if response.status_code != httpx.codes.OK or not isinstance(body, dict):
        why = body.get("message") if isinstance(body, dict) else body
        raise UnavailableError(f"the server cannot take a snapshot: {why}")
    return body


def _remove(client: httpx.Client, mark: Path) -> None:
    """Deletes the snapshot of a lock file. If the server has ended since, the copied files are
    still complete; the lock file then remains for the next backup to clean up."""
    try:
        _asked(client, "DELETE", f"/api/v1/backup/snapshot/{mark.stem}")
    except UnavailableError as error:
        typer.echo(f"snapshot {mark.stem} stays until the next backup: {error.message}", err=True)
    else:
        mark.unlink(missing_ok=True)


def _repository(
    target: str, key: Path | None, endpoint: str, region: str, credentials: Path | None
) -> Repository:
    cipher = None if key is None else Cipher(read_key(key))
    return Repository(_blobs(target, endpoint, region, credentials), cipher)


def _blobs(target: str, endpoint: str, region: str, credentials: Path | None) -> BlobStore:
    bucket = _BUCKET.fullmatch(target)
    if bucket is None:
        return LocalDirectory(Path(target))
    # The library needs 16 MB of memory, so it is loaded only for buckets.
    from vedette.blobs.s3_bucket import Bucket, S3Bucket, credentials_in

    place = Bucket(
        name=bucket[1],
        prefix=bucket[2].strip("/"),
        endpoint=endpoint,
        region=region,
        credentials=None if credentials is None else credentials_in(credentials),
    )
    return S3Bucket(place, BACKUP_DEADLINE_S)
