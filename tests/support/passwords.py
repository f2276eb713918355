"""Cheap hashes of passwords. A hash takes a fifth of a second of processor time on purpose, and a
run makes several hundred, one for each server that starts for the first time.

What a hash was made with stands in it, so all else is as it is. A server that is started by
`served.launch` makes hashes as those of users.
"""

from argon2 import PasswordHasher

from vedette.state.accounts import users


def hash_cheaply() -> None:
    """In this process."""
    users._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
