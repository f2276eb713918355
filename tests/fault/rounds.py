"""Number of rounds of a fault test, and its random numbers.

VEDETTE_TEST_ROUNDS is the number of rounds of all fault tests together (200 in `make fault`);
without it each test runs a short form. VEDETTE_TEST_SEED repeats a run: every test prints its seed.
"""

import os
import random
import time

DRAWN: list[int] = []
"""Seeds of this process that no test has reported yet."""

SEEDED_TESTS = 5
"""Tests that share VEDETTE_TEST_ROUNDS: kills of the server, also while rules fire, and of workers,
full disk, overload."""


WHOLE = 200
"""VEDETTE_TEST_ROUNDS of `make fault`."""


def rounds(short: int, long: int = 0) -> int:
    """The rounds of one test: `short` without VEDETTE_TEST_ROUNDS; at least `long` in the whole
    `make fault`."""
    total = int(os.environ.get("VEDETTE_TEST_ROUNDS", "0"))
    if not total:
        return short
    return max(short, long if total >= WHOLE else 0, -(-total // SEEDED_TESTS))


def is_long() -> bool:
    """Whether this is the long form, `make fault`."""
    return "VEDETTE_TEST_ROUNDS" in os.environ


def seeded() -> random.Random:
    """Random numbers with a new seed. pytest shows it when the test fails, `make fault` at its
    end."""
    seed = int(os.environ.get("VEDETTE_TEST_SEED", "0")) or time.time_ns() % 1_000_000
    print(f"VEDETTE_TEST_SEED={seed}")
    DRAWN.append(seed)
    return random.Random(seed)
