"""`vedette import PATH...`: imports files of telemetry.

Each path is read as a sequence in order of event time (`importer/file_sequence.py`) and sent to the
server that runs on the data directory, or stored directly if none runs. The next path is read while
the current one is sent, and the first while the store is opened.
"""

import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import disk_usage
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from vedette.bootstrap.local_access import ELSEWHERE, LocalAccess, read_access
from vedette.bootstrap.memory.malloc_tuning import retain_freed_memory
from vedette.bootstrap.reader_processes import ReaderLauncher
from vedette.cli.importing import import_summary
from vedette.cli.importing.import_sender import Answered, Connection, Sender
from vedette.cli.importing.import_summary import Summary
from vedette.cli.loading import loading
from vedette.cli.options import DataOption, JsonOption, load_settings, local_headers
from vedette.cli.printing import print_json
from vedette.errors import StartError, UnavailableError
from vedette.file_tree import regular_files
from vedette.importer import file_sequence
from vedette.limits import DISK_FREE_BYTES_MIN, IMPORT_ATTEMPTS_MAX, OFFLINE_IMPORT_RETRY_S, Limit
from vedette.settings import Settings

IMPORT_SHARED_BYTES_MIN: Limit[int] = 64 * 1024 * 1024
"""Minimum bytes of a path for which reader processes are started; less is read before such a
process has started."""


EXIT_NOTHING_READ = 2
EXIT_NOTHING_STORED = 3
"""Exit code if records were read, but none of them is in the store."""
EXIT_NOT_ALL_READ = 4
"""Exit code if some files or folders could not be listed or opened; everything else is stored."""

Opening = Callable[[], Sender]
"""Opens the destination; called once, while the first path is read."""


def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            exists=True,
            help="EVTX, XML, JSON Lines, audit.log, Santa logs; archives and directories of them.",
        ),
    ],
    data: DataOption = None,
    host: Annotated[
        str,
        typer.Option(help="Host for logs without a host name; default: the file name."),
    ] = "",
    url: Annotated[str, typer.Option(help="URL of another server; requires --token.")] = "",
    token: Annotated[
        str,
        typer.Option(envvar="VEDETTE_TOKEN", help="Administrator or ingest token of that server."),
    ] = "",
    ca: Annotated[
        Path | None, typer.Option(help="CA certificate of that server.", exists=True)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import files of telemetry; a second import of the same changes nothing."""
    retain_freed_memory()
    console = Console(stderr=True, highlight=False)
    with _sender(data, url, token, ca) as opening:
        summary = run_import(paths, opening, console, host)
    if as_json:
        print_json(summary.body())
    else:
        import_summary.show(summary)
    if summary.refused_files and not summary.files:
        console.print(f"NOTHING READ from {len(summary.refused_files):,} files")
        raise typer.Exit(EXIT_NOTHING_READ)
    if _stored_nothing(summary):
        console.print(f"NOTHING STORED of {summary.counts['read']:,} records read")
        raise typer.Exit(EXIT_NOTHING_STORED)
    if summary.unread:
        first = summary.unread[0]
        console.print(
            f"NOT ALL READ: {len(summary.unread):,} files or directories cannot be opened, "
            f"first {first.name}: {first.message}"
        )
        raise typer.Exit(EXIT_NOT_ALL_READ)


def _stored_nothing(summary: Summary) -> bool:
    """Returns whether records were read but none of them is in the store, including earlier
    imports."""
    counts = summary.counts
    return bool(counts["read"]) and not any(
        counts[name] for name in ("stored", "records", "duplicate")
    )


@contextmanager
def _sender(data: Path | None, url: str, token: str, ca: Path | None) -> Iterator[Opening]:
    """Yields a function that opens the destination: the server given by URL, the running server, or
    the store itself. Closes the destination at the end."""
    with ExitStack() as closing:
        if url:
            named = LocalAccess(url, token, token, str(ca or ""), ELSEWHERE)
            yield lambda: _connection(named, closing)
            return
        settings = load_settings(data).settings
        running = read_access(settings.data)
        if running is not None:
            yield lambda: _connection(running, closing)
            return
        yield lambda: _own_store(settings, closing)


def _connection(access: LocalAccess, closing: ExitStack) -> Sender:
    certificate = Path(access.certificate) if access.certificate else None
    connection = Connection(access.url, local_headers(access), certificate)
    closing.callback(connection.close)
    return connection


def _own_store(settings: Settings, closing: ExitStack) -> Sender:
    with loading():
        from vedette.cli.importing.offline_import import own_store  # engines take a second to load

    for attempt in range(IMPORT_ATTEMPTS_MAX):
        try:
            return closing.enter_context(own_store(settings))
        except (UnavailableError, StartError, OSError) as error:
            if not _is_full(settings.data, error):
                raise
            if not attempt:
                typer.echo("vedette: the disk is full; waiting for free space", err=True)
            time.sleep(OFFLINE_IMPORT_RETRY_S)
    raise UnavailableError("the disk is full; free some space and import again")


def _is_full(data: Path, error: Exception) -> bool:
    """Returns whether a store could not be opened because the disk is full, even if space is free
    again."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOSPC
    return "disk is full" in str(error) or disk_usage(data).free < DISK_FREE_BYTES_MIN


def run_import(
    paths: Sequence[Path], opening: Opening, console: Console, host: str = ""
) -> Summary:
    """Sends all records under the paths; returns the summary.

    Shows progress on `console`. Raises the errors of `opening` and `Sender.send`.
    """
    summary = Summary()
    with _progress(console) as progress:
        total = sum(map(_byte_count, paths))
        task = progress.add_task("reading", total=total or None, records=0)
        coming = [_reading(path, host) for path in paths[:1]]
        sender = opening()
        for position, path in enumerate(paths):
            progress.update(task, description=f"reading {path.name}")
            sequence = coming.pop().result()
            coming = [_reading(some, host) for some in paths[position + 1 : position + 2]]
            progress.update(task, description=f"sending {path.name}")
            byte_count, before = _byte_count(path), summary.counts["read"]
            with sequence:
                for answered in _send(sender, sequence):
                    summary.add_answer(sequence, answered)
                    share = byte_count * answered.chunk.share
                    progress.update(task, advance=share, records=summary.counts["read"])
                summary.add_sequence(sequence)
            summary.add_path(path, has_records=summary.counts["read"] > before)
    return summary


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[records]:,} records"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _reading(path: Path, host: str) -> "Future[file_sequence.Sequence]":
    """Reads a path in a daemon thread, so that the command can end without reading a long file
    completely if the store cannot be opened."""
    coming: Future[file_sequence.Sequence] = Future()
    processes = ReaderLauncher()

    def read() -> None:
        try:
            launch = processes.launch if _byte_count(path) >= IMPORT_SHARED_BYTES_MIN else list
            coming.set_result(file_sequence.Sequence(path, host, launch))
        except BaseException as error:  # noqa: BLE001 - passed to the caller
            coming.set_exception(error)
        finally:
            processes.close()

    threading.Thread(target=read, name="read", daemon=True).start()
    return coming


def _send(sender: Sender, sequence: file_sequence.Sequence) -> Iterator[Answered]:
    for chunk in sequence.chunks():
        yield from sender.send(chunk)
    yield from sender.flush()


def _byte_count(path: Path) -> int:
    """Returns the size of all files under a path, for progress. Ignores files whose size cannot be
    read."""

    def size(file: Path) -> int:
        try:
            return file.stat().st_size
        except OSError:
            return 0

    return sum(map(size, regular_files(path, on_error=lambda _error: None)))
