"""Response schemas of accounts, the approved list, the audit log, the license and snapshots."""

from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    nullable,
    record,
    reference,
)

_SUCCESS: Final[dict[str, Schema]] = {"result": {"const": "success"}}
_USER: Final[dict[str, Schema]] = {
    "id": INTEGER,
    **alike(("username", "first_name", "last_name", "email"), TEXT),
    **alike(("global_admin", "enabled", "has_password"), FLAG),
    "created": TIME,
    "teams": listing(record({"id": INTEGER, "name": TEXT})),
}
_TEAM: Final[dict[str, Schema]] = {
    "id": INTEGER,
    "name": TEXT,
    "enabled": FLAG,
    "group_access": listing(
        record({"group_id": INTEGER, **alike(("group_name", "access_category"), TEXT)})
    ),
}
_TOKEN: Final[dict[str, Schema]] = {
    **alike(("id", "name", "holder", "last_address"), TEXT),
    "kind": {"enum": ["api", "ingest"]},
    "scope": {"enum": ["full", "read", "ingest"]},
    "created": TIME,
    **alike(("expires", "revoked", "last_used"), nullable(TIME)),
    "is_good": FLAG,
}
_PROVIDER: Final[dict[str, Schema]] = {
    "id": INTEGER,
    **alike(("name", "label", "issuer", "client_id"), TEXT),
    "has_secret": FLAG,
    "scope": TEXT,
    "creates_users": FLAG,
    **alike(("username_claim", "team_claim"), TEXT),
    "teams": listing(record({"value": TEXT, "team_id": INTEGER})),
    "enabled": FLAG,
    "redirect_uri": nullable(TEXT),
    "created": TIME,
}
_IDENTITY: Final[dict[str, Schema]] = {
    "id": INTEGER,
    **alike(("username", "provider", "issuer", "subject"), TEXT),
    "follows_claims": FLAG,
    "created": TIME,
    "last_used": nullable(TIME),
}
_VALUES: Final[Schema] = {"type": ["object", "null"], "additionalProperties": True}

ACCOUNTS: Final[dict[str, Schema]] = {
    "User": record(_USER),
    "EffectiveRights": record(
        {
            "username": TEXT,
            **alike(("enabled", "global_admin"), FLAG),
            **alike(("teams", "unseen_groups"), listing(TEXT)),
            "groups": listing(
                record(
                    {
                        **alike(("group_id", "hosts"), INTEGER),
                        **alike(("name", "role"), TEXT),
                    }
                )
            ),
            **alike(("hosts", "all_hosts"), INTEGER),
        }
    ),
    "ChangedUser": record(_USER | _SUCCESS),
    "Team": record(_TEAM),
    "ChangedTeam": record(_TEAM | _SUCCESS),
    "Token": record(_TOKEN),
    "NewToken": record(_TOKEN | {"secret": TEXT}),
    "IdentityProvider": record(_PROVIDER),
    "Identity": record(_IDENTITY),
    "ApprovedAddress": record({"id": INTEGER, "ipaddr": TEXT}),
    "ApprovedIds": record({"id": {"oneOf": [INTEGER, listing(INTEGER)]}}),
    "ApprovingState": record({"state": FLAG}),
    "LockedOut": record(
        {
            "caller": record({"address": TEXT, "approved": FLAG}),
            "locked_out": listing(
                record(
                    {
                        **alike(("id", "kind", "name", "holder", "last_address"), TEXT),
                        "last_used": TIME,
                    }
                )
            ),
        }
    ),
    "AuditEntry": record(
        {
            "number": INTEGER,
            "timestamp": TIME,
            **alike(("author_kind", "author", "address", "request_id"), TEXT),
            **alike(("action", "kind", "target", "hash"), TEXT),
            **alike(("before", "after"), _VALUES),
        }
    ),
    "AuditLog": record(
        {
            **alike(("total_results", "start"), INTEGER),
            "results": listing(reference("AuditEntry")),
            "head": record({"number": INTEGER, "hash": TEXT}),
            "chain": nullable(
                record({"is_whole": FLAG, "entries": INTEGER, "fault": nullable(TEXT)})
            ),
        }
    ),
    "License": record(
        {
            **alike(("license_valid", "license_expired", "licensed_sensor_count_exceeded"), FLAG),
            "license_end_date": {"type": "string", "format": "date"},
            **alike(("licensed_sensor_count", "actual_sensor_count"), INTEGER),
            **alike(("server_token", "license_request_block"), TEXT),
        }
    ),
    "LicenseApplied": record({"status": {"const": "success"}}),
    "Session": record(
        {
            "username": TEXT,
            **alike(("global_admin", "second_factor"), FLAG),
            "groups": listing(record({"group_id": INTEGER, "access_category": TEXT})),
            "csrf_token": nullable(TEXT),
        }
    ),
    "ListedSession": record(
        {
            **alike(("id", "client", "last_address"), TEXT),
            **alike(("created", "expires"), TIME),
            "last_used": nullable(TIME),
            **alike(("is_good", "is_current"), FLAG),
        }
    ),
    "SecondFactor": record({"uri": TEXT, "secret": TEXT, "qr": listing(TEXT)}),
    "Snapshot": record(alike(("id", "path"), TEXT)),
    "Dashboard": record(
        alike(
            (
                "sensor_count",
                "active_sensor_count",
                "num_eventlog_bytes",
                "num_storefiles_bytes",
            ),
            INTEGER,
        )
    ),
}
"""Maps component name to schema."""
