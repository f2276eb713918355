"""Files of the Linux sensor are whole, and are not written through a link."""

from pathlib import Path

from vedette.sensor.durable_files import write_durably


def test_a_link_in_place_of_the_draft_is_replaced(tmp_path: Path) -> None:
    victim, wanted = tmp_path / "victim", tmp_path / "state.json"
    victim.write_bytes(b"kept")
    (tmp_path / "state.json.new").symlink_to(victim)
    write_durably(wanted, b"content", mode=0o600)
    assert (wanted.read_bytes(), victim.read_bytes()) == (b"content", b"kept")
    assert not wanted.is_symlink()
    assert wanted.stat().st_mode & 0o777 == 0o600


def test_the_draft_of_a_killed_run_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "state.json.new").write_bytes(b"a longer content of an earlier run")
    write_durably(tmp_path / "state.json", b"content")
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]
    assert (tmp_path / "state.json").read_bytes() == b"content"
