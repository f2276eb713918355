"""The tiers of the tests. Each test file belongs to one:

- `quick`: units, properties and the rules of the house. No server, no engine, no browser.
- `product`: the whole product once, with a real server, real clients and a browser.
- `long`: all other files.

`--tiers quick,product` collects the files of these tiers only. `make quick` runs the first tier,
`make test` the first two, `make all` all three. A file that is in no list below is `quick` in the
folders of `QUICK_FOLDERS`, and `long` in all others. A file in a list moves from there: see
CONTRIBUTING.md for how to measure what a file costs.
"""

from pathlib import Path, PurePosixPath
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
TIERS: Final = ("quick", "product", "long")
QUICK_FOLDERS: Final = frozenset({"house", "property", "unit"})

LONG: Final = frozenset(
    {
        "property/test_damaged_documents.py",
        "property/test_joins.py",
        "property/test_patterns_are_linear.py",
        "property/test_query_ends.py",
        "property/test_query_fuzz.py",
        "property/test_stream_operations.py",
        "property/test_whole_process.py",
        "unit/binaries/test_damaged_files.py",
        "unit/binaries/test_file_reader.py",
        "unit/binaries/test_yara_rules.py",
        "unit/cli/test_starter_pack_scan.py",
        "unit/importer/readers/test_path_reader.py",
        "unit/importer/test_file_sequence_archives.py",
        "unit/ingest/framing/test_csv_table.py",
        "unit/ingest/framing/test_record_boundaries.py",
        "unit/query/check/test_long_numbers.py",
        "unit/simulate/test_day.py",
        "unit/support/test_failures.py",
    }
)
"""Files of `QUICK_FOLDERS` that open an engine or take most of their processor time."""

PRODUCT: Final = frozenset(
    {
        "api/analysis/test_streams.py",
        "api/test_accounts.py",
        "api/test_alerts.py",
        "api/test_authorization.py",
        "api/test_bans.py",
        "api/test_binaries.py",
        "api/test_changes.py",
        "api/test_console_pages.py",
        "api/test_filters.py",
        "api/test_groups.py",
        "api/test_notifications.py",
        "api/test_openapi.py",
        "api/test_osquery.py",
        "api/test_pages.py",
        "api/test_process_search.py",
        "api/test_processes.py",
        "api/test_scope.py",
        "api/test_sensor_orders.py",
        "api/test_sensor_protocol.py",
        "api/test_sensors.py",
        "api/test_sessions.py",
        "api/test_sigma_rules.py",
        "api/test_stories.py",
        "api/test_telemetry.py",
        "api/test_watchlists.py",
        "browser/test_newcomers_walk.py",
        "contract/feeds/test_synchronise.py",
        "contract/notify/test_mail.py",
        "contract/notify/test_syslog.py",
        "contract/notify/test_webhook.py",
        "contract/pipeline/test_order.py",
        "contract/pipeline/test_resent.py",
        "contract/pipeline/test_wholeness.py",
        "contract/search/test_run.py",
        "contract/search/test_tree.py",
        "contract/state/test_audit_log.py",
        "contract/state/test_sensors.py",
        "contract/state/test_start.py",
        "contract/state/test_tokens.py",
        "contract/state/test_users.py",
        "contract/store/test_binaries.py",
        "contract/store/test_partitions.py",
        "contract/store/test_searching.py",
        "contract/store/test_writing.py",
        "contract/watchlists/test_rounds.py",
        "flow/test_cbapi.py",
        "flow/test_cbapi_alerts.py",
        "flow/test_cbapi_binary.py",
        "flow/test_cbapi_feeds.py",
        "flow/test_cbapi_response.py",
        "flow/test_cbapi_search.py",
        "flow/test_cbapi_sensors.py",
        "flow/test_cbapi_watchlists.py",
        "flow/test_cloud_sdk.py",
        "flow/test_first_start.py",
        "flow/test_oidc.py",
        "flow/test_senders.py",
        "property/test_query_sql.py",
    }
)
"""Files that prove most of the product in the least processor time."""


def tier_of(path: Path) -> str:
    """The tier of a test file below `tests/`."""
    name = PurePosixPath(path.relative_to(TESTS)).as_posix()
    if name in PRODUCT:
        return "product"
    is_quick = name.partition("/")[0] in QUICK_FOLDERS and name not in LONG
    return "quick" if is_quick else "long"


def chosen_tiers(text: str) -> frozenset[str]:
    """The tiers of a value of `--tiers`; all for the empty one. Raises UsageError."""
    names = frozenset(text.split(",")) if text else frozenset(TIERS)
    if unknown := sorted(names.difference(TIERS)):
        raise pytest.UsageError(f"--tiers: no tier {unknown[0]!r}; there are {', '.join(TIERS)}")
    return names
