"""Maintains the starter pack (`detect/starter/`) among the rules of a server: installs it once, and
updates it after an upgrade. Rules that a user changed or deleted stay as they are."""

from hashlib import sha256
from typing import Final

import structlog

from vedette.alerting.rule_import import load_files
from vedette.alerting.rule_messages import RuleFile
from vedette.detect.starter_pack import starter_texts
from vedette.state.db.database import Database
from vedette.state.policy import rule_placeholders, rules
from vedette.state.policy.rules import StarterPack

log = structlog.get_logger(__name__)

ORIGIN: Final = "starter"
"""Origin of the pack's rules; a rule that is added again by other means has another origin."""


def install_starter(database: Database, now_us: int) -> int:
    """Adds new and changed rules of the pack and returns their number. Raises UnavailableError,
    BusyError."""
    files = [RuleFile(name, text, ORIGIN) for name, text in starter_texts()]
    digest = sha256("".join(f"{one.name}\n{one.text}" for one in files).encode()).hexdigest()
    before = rules.starter_pack(database)
    if before.digest == digest:
        return 0
    placeholders = rule_placeholders.load(database)
    documents = load_files(files, placeholders.by_name)
    origins = rules.origins(database, [one.id for one in documents])
    wanted = [
        one
        for one in documents
        if origins.get(one.id) == ORIGIN or (one.id not in origins and one.id not in before.ids)
    ]
    changes = rules.put(database, wanted, "starter pack", now_us, placeholders=placeholders.version)
    ids = sorted({*before.ids, *(one.id for one in documents)})
    rules.note_starter_pack(database, StarterPack(digest, tuple(ids)))
    count = sum(change != "unchanged" for change in changes)
    log.info("starter pack of detection rules loaded", rules=len(documents), changed=count)
    return count
