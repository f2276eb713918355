"""`vedette audit`: lists the audit log and verifies its integrity."""

from dataclasses import asdict
from typing import Annotated

import typer

from vedette.cli.options import ConfigOption, DataOption, JsonOption, open_state
from vedette.cli.printing import print_json, print_table, time_text
from vedette.errors import BadRequestError
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import Head, Search

app = typer.Typer(no_args_is_help=True)

EXIT_BROKEN = 1


@app.command("list")
def list_entries(
    author: Annotated[str, typer.Option(help="Only entries of this user, job, or person.")] = "",
    kind: Annotated[str, typer.Option(help="Only objects of this kind, e.g. user.")] = "",
    target: Annotated[str, typer.Option(help="Only objects whose name contains this.")] = "",
    rows: Annotated[int, typer.Option(min=1, help="Maximum number of entries, newest first.")] = 50,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the entries of the audit log, newest first."""
    with open_state(data, config) as database:
        wanted = Search(author=author, kind=kind, target=target, rows=rows)
        _, found = audit_trail.search(database, wanted)
    if as_json:
        print_json([asdict(entry) for entry in found])
        return
    print_table(
        ("number", "time", "by", "from", "action", "what", "name"),
        [
            (
                entry.number,
                time_text(entry.time_us),
                f"{entry.author_kind} {entry.author}".strip(),
                entry.address,
                entry.action,
                entry.kind,
                entry.target,
            )
            for entry in found
        ],
    )


@app.command("verify")
def verify(
    head: Annotated[
        str,
        typer.Option(
            metavar="NUMBER:HASH", help="A head stored elsewhere that the log must contain."
        ),
    ] = "",
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Check that no entry was changed, removed or inserted. Exit code 1: verification failed."""
    with open_state(data, config) as database:
        verdict = audit_trail.verify(database, _head(head) if head else None)
    if verdict.fault:
        typer.echo(f"the audit log is broken after entry {verdict.entries}: {verdict.fault}")
        raise typer.Exit(EXIT_BROKEN)
    typer.echo(f"the audit log is intact: {verdict.entries} entries")
    typer.echo(f"head {verdict.head.number}:{verdict.head.hash}")


def _head(text: str) -> Head:
    number, _, digest = text.partition(":")
    if not number.isdecimal() or not digest:
        raise BadRequestError(f"--head {text[:80]}: must be NUMBER:HASH, as printed by verify")
    return Head(int(number), digest.strip().lower())
