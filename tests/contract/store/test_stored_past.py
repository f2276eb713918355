"""File data that rules get in a trial on stored telemetry."""

from tests.contract.store.rows import HOUR_MS, module, partial, store
from tests.contract.store.test_binaries import ONE, TWO, seen
from tests.support.indexed import on_two_shards
from vedette.model.scope import EVERYTHING, Scope
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.stored_past import StoredSpan, file_versions
from vedette.store.write.commit import Commit
from vedette.store.write.insert import write_commit

SPAN = StoredSpan(HOUR_MS, HOUR_MS + 1)


@on_two_shards
def test_what_one_host_says_of_a_file_is_known_where_another_runs_it(
    contract_engine: ClickHouseEngine,
) -> None:
    """Also where telemetry of the two lies on different shards."""
    for sensor_id in (1, 2):
        image = {"process_md5": ONE if sensor_id == 1 else ""}
        store(contract_engine, partial(7, module("c:\\x.dll", TWO), sensor_id=sensor_id, **image))
    rows = [
        seen(ONE, 1, "c:\\a.exe", original_filename="a.exe"),
        seen(ONE, 2, "c:\\b.exe", product_name="Studio"),
        seen(TWO, 4, "c:\\x.dll", company_name="Example"),
        seen("09" * 16, 2, "c:\\never.exe", product_name="Never run"),
    ]
    write_commit(contract_engine, Commit(binaries=rows))
    known = file_versions(contract_engine, EVERYTHING, SPAN, Reach())
    assert sorted(known) == [ONE, TWO]
    assert (known[ONE]["product_name"], known[TWO]["company_name"]) == ("Studio", "Example")
    mine = file_versions(contract_engine, Scope(frozenset({1})), SPAN, Reach())
    assert (sorted(mine), mine[ONE]["product_name"]) == ([ONE], "")
