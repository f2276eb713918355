"""Keys of parts of requests."""

from vedette.pipeline.request_parts import key_in_slot, key_of_part, parts_of
from vedette.pipeline.submission import request_key


def test_texts_that_name_one_host_are_one_part() -> None:
    parts = parts_of([b"a", b"b", b"a", b""])
    assert parts[0] == parts[2]
    assert len(set(parts)) == 3


def test_no_two_parts_or_slots_of_requests_have_one_key() -> None:
    requests = [request_key(str(n).encode()) for n in range(20)]
    parts = parts_of([f"host-{n}".encode() for n in range(100)])
    stored = [key_of_part(request, part) for request in requests for part in parts]
    assert len(set(stored)) == 2_000
    assert all(0 <= key < 1 << 63 for key in stored)
    seen = {key_in_slot(key, slot) for key in stored[:500] for slot in range(128)}
    assert len(seen) == 500 * 128
    assert all(0 <= key < 1 << 64 for key in seen)
