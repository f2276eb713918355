"""Every table of the state is in the audit log, or it says here why its changes are none that
somebody makes."""

import importlib
import pkgutil
from typing import Final

from vedette.state import db
from vedette.state.db.schema import METADATA
from vedette.state.servers.tables import SERVER

NOT_AUDITED: Final = {
    "alert_settled": "what a job has counted already",
    "alert_undo": "what a bulk change was before; the change itself is in alert_audit",
    "alert_workflow": "is written by a job of the cloud side, which is audited",
    "audit": "the log itself",
    "audit_head": "the log itself",
    "ban_audit": "the history of a ban, which is audited itself",
    "channel": "names that telemetry has",
    "commit_counter": "numbers of commits",
    "correlation_state": "what rules have counted",
    "feed_error": "what a feed could not read",
    "forwarded_hit": "how far a forwarder is",
    "forwarder_stream": "how far a forwarder is",
    "host_slot": "which server has which hosts, by their leases",
    "ingress_filter_dropped": "what filters have counted",
    "ingress_filter_rate": "what filters have counted",
    "installer_chunk": "the bytes of an installer, which is audited",
    "kept_value": "small values of the server itself; changes of the clock's and of the "
    "application-control server's settings have entries of their own",
    "lease": "which server runs a job",
    "log_source": "events that servers have counted",
    "license": "what is applied has an entry of its own, which says what it is for",
    "live_query_target": "answers of hosts to a live query, which is audited",
    "open_commit": "commits that are under way",
    "outbox": "messages; retrying and giving up have entries of their own",
    "outbox_target": "whether a receiver answers; hurrying has an entry of its own",
    "permalink": "the caller's own place in the console, for nobody else unless they are given it",
    "preference": "how the console looks to its user",
    "request_count": "how many requests servers let through",
    "response": "what policies did; the isolation and the ban are audited",
    "sensor_health": "what sensors say of themselves",
    "sensor_key_event": "the history of keys; who approves changes the sensor, which is audited",
    "sensor_queue": "what sensors say that they have waiting",
    "sensor_move": "how far a move to another shard is; the change of the shard has an entry",
    "sensor_shard": "where rows of moved sensors lie; a move has an entry of its own",
    "server": "which servers run, by their leases",
    "shard_range": "which shards take new sensors; those who may add one administrate the cluster",
    "sigma_count": "what rules have counted",
    "sigma_version": "former texts of a rule, which is audited",
    "sign_in_attempt": "guesses; what is refused is in the log",
    "stored_file": "copies that sensors send; what people add has an entry of its own",
    "stored_file_sender": "copies that sensors send",
    "stream": "the caller's own place in what they read",
    "update_target": "how far the sensors of an update job are, which is audited",
    "watchlist_id": "former ids of a watchlist, which is audited",
    "watermark": "how far a follower is",
}


def test_every_table_is_audited_or_has_a_reason_not_to_be() -> None:
    for module in pkgutil.iter_modules(db.__path__):
        importlib.import_module(f"{db.__name__}.{module.name}")
    assert SERVER.metadata is METADATA  # its module is another one
    unaudited = {table.name for table in METADATA.sorted_tables if not table.info}
    assert unaudited - set(NOT_AUDITED) == set(), "audit it (`audited`), or say why not"
    assert set(NOT_AUDITED) - unaudited == set(), "is audited now"
