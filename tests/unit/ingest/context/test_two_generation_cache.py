"""A bounded dictionary that forgets what was not used for longest."""

from vedette.ingest.context.two_generation_cache import GenerationCache


def test_never_more_than_its_bound_is_held() -> None:
    cache: GenerationCache[int, str] = GenerationCache(10)
    for number in range(100):
        cache[number] = str(number)
        assert len(cache) <= 10
    assert cache.get(99) == "99"
    assert cache.get(1) is None


def test_what_is_read_is_kept() -> None:
    cache: GenerationCache[str, int] = GenerationCache(4)
    cache["kept"] = 1
    for number in range(50):
        cache[str(number)] = number
        assert cache.get("kept") == 1


def test_what_is_forgotten_is_told() -> None:
    gone: list[int] = []
    cache: GenerationCache[int, int] = GenerationCache(4, gone.extend)
    for number in range(9):
        cache[number] = number
    assert sorted(gone + list(cache.values())) == list(range(9))


def test_a_smaller_bound_holds_as_new_entries_come() -> None:
    cache: GenerationCache[int, int] = GenerationCache(100)
    for number in range(100):
        cache[number] = number
    cache.resize(10)
    for number in range(100, 120):
        cache[number] = number
    assert len(cache) <= 10
    assert cache.get(119) == 119
