"""Summary of an import: counts, reasons, hosts, time span, and a line per channel and event id."""

from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from vedette.cli.importing.import_contents import Contents
from vedette.cli.importing.import_sender import Answered
from vedette.cli.printing import print_table, time_text
from vedette.importer import file_sequence
from vedette.importer.sources.archives import Refusal
from vedette.limits import IMPORT_ERRORS_MAX, Limit

IMPORT_HOSTS_SHOWN_MAX: Limit[int] = 20
"""Hosts that the summary of an import prints by name, a few lines; it prints the number of the
others."""


_COUNTS = (
    "read",
    "stored",
    "records",
    "duplicate",
    "not_kept",
    "filtered",
    "rejected",
    "conflicts",
)
"""Counts in the response of `POST /api/v1/ingest`."""

_MEANINGS = {
    "duplicate": "skipped: already stored",
    "not_kept": "skipped: no process, and not listed in the setting keep",
    "filtered": "skipped: dropped by ingress filters",
    "rejected": "rejected: see the reasons",
    "conflicts": "stored: record numbers seen before with different content",
}

_OUTCOMES = ("events", "record", "duplicate", "not_kept", "filtered", "rejected")


class Summary:
    """Aggregates the server's responses and the records rejected before sending."""

    def __init__(self) -> None:
        self.files: list[str] = []
        """Names of the files that were read."""
        self.counts: Counter[str] = Counter(dict.fromkeys(_COUNTS, 0))
        self.reasons: Counter[str] = Counter()
        """Rejected records by reason."""
        self.errors: list[tuple[str, int, str, str]] = []
        """Rejected records: file, position from 1, reason, message; at most IMPORT_ERRORS_MAX."""
        self.on_disk = 0
        """Files on disk under the paths, read or not."""
        self.refused_files: list[Refusal] = []
        self.tally: Counter[tuple[str, int, str]] = Counter()
        """Records by channel, event id and outcome."""
        self.contents = Contents()
        """Hosts and time span of the records."""

    def add_answer(self, sequence: file_sequence.Sequence, answered: Answered) -> None:
        """Adds the server's response to a chunk."""
        answer = answered.answer
        self.contents.add(answered.chunk.records)
        for name in _COUNTS:
            self.counts[name] += answer.get(name, 0)  # older servers omit some
        for channel, event_id, outcome, count in answer["tally"]:
            self.tally[channel, event_id, outcome] += count
        for error in answer["errors"]:
            file, position = answered.chunk.places[error["position"]]
            self.reasons[error["reason"]] += 1
            self._add_error(sequence.files[file], position, error["reason"], error["message"])
        unlisted = answer.get("errors_left_out", 0)
        if unlisted:
            self.reasons["not_listed"] += unlisted

    def add_sequence(self, sequence: file_sequence.Sequence) -> None:
        """Adds records and files that were never sent: unreadable ones, and duplicates within the
        sequence. Call it after the last chunk."""
        self.files += sequence.files
        self.on_disk += sequence.on_disk
        self.refused_files += sequence.refusals
        rejected = sequence.reasons.total()
        self.reasons += sequence.reasons
        self.counts["rejected"] += rejected
        self.counts["read"] += rejected + sequence.duplicates.total()
        self.counts["duplicate"] += sequence.duplicates.total()
        if rejected:
            self.tally["", 0, "rejected"] += rejected
        for (channel, event_id), count in sequence.duplicates.items():
            self.tally[channel, event_id, "duplicate"] += count
        for refused in sequence.refused:
            name = sequence.files[refused.file]
            self._add_error(name, refused.position, refused.reason, refused.message)

    def add_path(self, path: Path, *, has_records: bool) -> None:
        """Lists a path without records, unless another reason is already listed."""
        if not has_records and not self.refused_files:
            self.refused_files.append(Refusal(str(path), "no_records", "it contains no records"))

    @property
    def unread(self) -> list[Refusal]:
        """Files and folders that could not be listed or opened."""
        return [refusal for refusal in self.refused_files if refusal.reason == "unreadable"]

    def body(self) -> dict[str, Any]:
        """Returns the summary as JSON."""
        return {
            "on_disk": self.on_disk,
            "files": len(self.files),
            **{name: self.counts[name] for name in _COUNTS},
            **self.contents.body(),
            "reasons": dict(self.reasons.most_common()),
            "errors": [
                {"file": file, "position": position, "reason": reason, "message": message}
                for file, position, reason, message in self.errors
            ],
            "refused_files": [refusal._asdict() for refusal in self.refused_files],
            "tally": [[*key, count] for key, count in sorted(self.tally.items())],
        }

    def _add_error(self, file: str, position: int, reason: str, message: str) -> None:
        if len(self.errors) < IMPORT_ERRORS_MAX:
            self.errors.append((file, position, reason, message))


def show(summary: Summary, errors_shown: int = 10) -> None:
    """Prints a summary as text."""
    print_table(
        ("channel", "id", *(name.replace("_", " ") for name in _OUTCOMES)),
        _rows(summary.tally),
    )
    console = Console(highlight=False, markup=False, soft_wrap=True)
    counts = summary.counts
    console.print(f"on disk    {summary.on_disk:>12,}   files, read or unread")
    console.print(f"files      {len(summary.files):>12,}")
    for name in _COUNTS:
        if name == "conflicts" and not counts[name]:
            continue
        meaning = _MEANINGS.get(name, "") if counts[name] else ""
        console.print(f"{name.replace('_', ' '):<10} {counts[name]:>12,}   {meaning}".rstrip())
    _show_contents(console, summary.contents)
    if summary.reasons:
        found = ", ".join(f"{reason} {count:,}" for reason, count in summary.reasons.most_common())
        console.print(f"\nrejected: {found}")
    for file, position, reason, message in summary.errors[:errors_shown]:
        console.print(f"  {file}, record {position}: {reason}: {message}")
    if len(summary.errors) > errors_shown:
        console.print("  ... --json lists more")
    if summary.refused_files:
        console.print(f"\nnot read: {len(summary.refused_files):,} files")
    for refusal in summary.refused_files[:errors_shown]:
        console.print(f"  {refusal.name}: {refusal.reason}: {refusal.message}")
    if len(summary.refused_files) > errors_shown:
        console.print("  ... --json lists all")


def _show_contents(console: Console, contents: Contents) -> None:
    hosts = sorted(contents.hosts)
    if not hosts:
        return
    more = (
        f" and {len(hosts) - IMPORT_HOSTS_SHOWN_MAX:,} more"
        if len(hosts) > IMPORT_HOSTS_SHOWN_MAX
        else ""
    )
    console.print(f"\nhosts: {len(hosts):,}: {', '.join(hosts[:IMPORT_HOSTS_SHOWN_MAX])}{more}")
    console.print(f"from {time_text(contents.first_us)} to {time_text(contents.last_us)}")


def _rows(tally: Counter[tuple[str, int, str]]) -> list[list[object]]:
    keys = sorted({key[:2] for key in tally})
    return [
        [channel or "(unknown)", event_id]
        + [_shown(tally[channel, event_id, outcome]) for outcome in _OUTCOMES]
        for channel, event_id in keys
    ]


def _shown(count: int) -> str:
    return f"{count:,}" if count else ""
