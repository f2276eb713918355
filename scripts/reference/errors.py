"""Every stable word with which something is refused. The words come from the code, their
meanings stand here; a word without a meaning fails `tests/house/test_docs.py`."""

from collections.abc import Mapping
from typing import Final

from scripts.reference.markdown import code, paragraph, table
from scripts.reference.source import file_reasons, record_reasons, request_reasons
from vedette import errors
from vedette.errors import VedetteError
from vedette.web.http.error_responses import REASONS, STATUSES

REQUEST: Final[Mapping[str, str]] = {
    "address_not_approved": "The caller's address is not approved; only approved ones may call.",
    "bad_compression": "The compressed body is damaged, cut short, or of too many members.",
    "bad_encoding": "A `Content-Encoding` that is not served: gzip, deflate and zstd are.",
    "bad_member": "A member of a sensor's message is missing or out of bounds; `message` has it.",
    "bad_request": "A parameter or a body cannot be understood; the message names it.",
    "basic_not_accepted": "Basic is for senders of telemetry; send X-Auth-Token or Bearer.",
    "busy": "The queue is full. Keep the data and send it again after `Retry-After`.",
    "cancelled": "The query was cancelled: its caller went away, or an operator killed it.",
    "claims_unusable": "No user can be made of the identity's claims.",
    "clock_in_doubt": "The server's clock was set. Keep the data; come back after `Retry-After`.",
    "conflict": "The thing exists already, or its state forbids the change.",
    "selects_all": "A bulk change without a condition; add one, or send `allow_all`: true.",
    "count_changed": "The selection is not the `expected` number of alerts; count it again.",
    "csrf_token_needed": "A change by a session without its `X-CSRF-Token`, or from another site.",
    "damaged_blob": "The stored bytes of a file are damaged; somebody has to restore them.",
    "deadline": "A read took longer than it may.",
    "empty_body": "The body holds no record.",
    "error": "An error without a word of its own.",
    "feed_broken": "The document of a feed is in no known format, or ends early.",
    "feed_unreachable": "The document of a feed cannot be fetched; the message says why.",
    "forbidden": "A good token that may not do this.",
    "hash_mismatch": "A copied file is not what the sensor offered; nothing of it is kept.",
    "http_error": "The framework refused the request; the status says why.",
    "https_required": "Plain HTTP at the HTTPS port.",
    "id_token_refused": "The ID token proves nothing: signature, issuer, audience, nonce or time.",
    "identity_unknown": "The identity is linked to nobody.",
    "illegal_argument_exception": "A line of a bulk body is no action; nothing of it was taken.",
    "internal_error": "A bug; the message names the request id to look for in the log.",
    "issuer_mixed_up": "The answer to a sign-in is another identity provider's.",
    "link_ended": "The link was used, or its time is over. `vedette user link` makes another.",
    "changed_meanwhile": "Somebody else changed it since it was read. `changed` is what is now.",
    "locked_out": "Too many attempts to sign in. Wait a quarter of an hour.",
    "method_not_allowed": "The route does not have this method.",
    "no_sensor": "No host that has the file runs a sensor that could send it.",
    "no_team": "No claim of the identity names a team here.",
    "not_found": "There is no such thing, or the caller may not see it.",
    "nothing_taken": "No record of the request could be taken; `errors` says why.",
    "orders_off": "The group's hosts send no files: its `binary_orders` is off.",
    "too_many_orders": "The group has as many open orders for files as it may have.",
    "protected": "The program keeps hosts running; `even_protected` bans it all the same.",
    "provider_refuses": "The identity provider did not sign anybody in, or refuses the code.",
    "provider_unavailable": "The identity provider cannot be asked, or its answer cannot be used.",
    "public_url_needed": "The setting `public_url` is required for sign-in with a provider.",
    "query_malformed_syntax": "The query cannot be understood; `start` and `end` say where.",
    "second_factor_needed": "The password is right; the code of the second factor is missing.",
    "second_factor_wrong": "The code of the second factor is wrong, or was used before.",
    "lease_lost": "Other servers took this one for dead; it begins anew. Send again.",
    "moving": "Hosts of these records are changing servers. Send again in some seconds.",
    "secret_unreadable": "A stored secret was sealed with another key file; enter it again.",
    "sequence_conflict": "Another block of events was stored under the same number of its queue.",
    "other_site": "A page of another site made a browser sign in.",
    "sign_in_expired": "The sign-in with an identity took more than ten minutes.",
    "sign_in_not_begun": "This browser did not begin the sign-in with an identity.",
    "sign_in_spent": "The sign-in with an identity was finished before.",
    "stopped": "The synchronisation of a feed was stopped; it goes on later.",
    "stream_expired": "The stream was not used for `stream_ttl_s`, so it ended. Create another.",
    "token_reads_only": "A read-only token was used for what changes something or tells a secret.",
    "too_large": "A body over its limit, as sent or inflated.",
    "too_many_trials": "Too many test messages to one target within a minute.",
    "too_many_failures": "Too many requests with bad tokens from one address.",
    "too_many_changes": "The user changes more in a minute than it may, with all tokens together.",
    "quota": "The server, or this user, has as many objects of the kind as it may have.",
    "too_many_requests": "The token makes more requests than it may: `requests_per_minute`.",
    "unauthorized": "No token, or one that is unknown, revoked or expired.",
    "unavailable": "The store cannot take or answer now. Come back after `Retry-After`.",
    "user_disabled": "The identity's user is disabled.",
    "username_taken": "The user name that the identity claims is another user's.",
}
"""Of whole requests."""

RECORD: Final[Mapping[str, str]] = {
    "bad_event": "A member of an event is of a wrong type, or missing.",
    "bad_host": "The host's name cannot be one, or no further host is taken in.",
    "bad_process": "An event names no process: a sensor's by pid and start, an agent's by pid.",
    "bad_text": "The record is not UTF-8.",
    "bad_time": "A time that cannot be believed: before 1970, or over a day ahead of the server.",
    "bad_line": "A line of an audit or Santa log whose head is damaged or cut short.",
    "bad_xml": "An XML event that is damaged, or that declares a document type.",
    "illegal_argument_exception": "A bulk action that is not served: only create and index are.",
    "internal_error": "A bug; the log has it. The other records were taken.",
    "no_host": "The record has no host.",
    "no_time": "The record has no time.",
    "not_an_object": "JSON, but not an object.",
    "not_json": "Not JSON, not XML, and no log line that is known.",
    "stuck": "The record stalled a worker process repeatedly, and is not processed again.",
    "too_deep": "Nested deeper than a record may be.",
    "too_large": "Larger than a record may be.",
    "unknown_format": "JSON or XML of no known format; the message names its members.",
}
"""Of one record among others."""

FILE: Final[Mapping[str, str]] = {
    "bomb": "The archive inflates beyond all proportion, or has too many members.",
    "damaged": "The file, member or chunk cannot be read; what came before it was.",
    "empty": "The file has no bytes.",
    "link": "A link (also to a folder), a device or a sparse file: never followed.",
    "no_records": "Nothing in the file is a record of a known format.",
    "outside": "The member's name leads out of the archive.",
    "too_deep": "An archive in too many archives.",
    "unknown_kind": "The first bytes are those of no log and no archive.",
    "unreadable": "The file or folder cannot be opened or listed; the import ends with code 4.",
}
"""Of files and members of archives."""

_EXTRA_STATUSES: Final[Mapping[str, str]] = {
    "nothing_taken": "400",
    "http_error": "any",
    "https_required": "400",
    "quota": "400, 409",
    "too_many_orders": "409",
}

_INTRODUCTION = """
Every error of the API is `{"reason": WORD, "message": TEXT}`. The word is stable and for
programs, the text is for people and may change.
"""

_RECORDS = """
In the answer of `/api/v1/ingest` as `errors[].reason`, in that of `_bulk` as
`items[].*.error.type`, in the summary of `vedette import`, and as the label of
`vedette_ingest_rejected_total`. A refused record costs nothing but itself.
"""

_FILES = """
In the summary of `vedette import`, with the name of the file; a member of an archive stands
behind `!`.
"""


def request_statuses() -> dict[str, str]:
    """Every reason of a request with the status it is answered with."""
    found: dict[str, set[str]] = {}
    for kind, status in STATUSES:
        found.setdefault(kind.reason, set()).add(str(status))
    for status, word in REASONS.items():
        found.setdefault(word, set()).add(str(status))
    for word, class_name in request_reasons().items():
        statuses = found.setdefault(word, set())
        if class_name:
            statuses.add(_status(getattr(errors, class_name)))
    for word, text in _EXTRA_STATUSES.items():
        found.setdefault(word, set()).add(text)
    return {word: ", ".join(sorted(found[word])) for word in sorted(found)}


def body() -> str:
    requests = table(
        ("Reason", "Status", "Meaning"),
        ((code(word), status, REQUEST[word]) for word, status in request_statuses().items()),
    )
    parts = [
        paragraph(_INTRODUCTION),
        "## Requests",
        requests,
        "## Records",
        paragraph(_RECORDS),
        _listed(record_reasons(), RECORD),
        "## Files",
        paragraph(_FILES),
        _listed(file_reasons(), FILE),
    ]
    return "\n\n".join(parts)


def _listed(words: set[str], meanings: Mapping[str, str]) -> str:
    return table(("Reason", "Meaning"), ((code(word), meanings[word]) for word in sorted(words)))


def _status(kind: type[VedetteError]) -> str:
    return str(next(status for known, status in STATUSES if issubclass(kind, known)))
