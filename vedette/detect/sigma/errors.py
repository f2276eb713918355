"""Why a part of a rule is refused.

It stands alone, so that whoever names the reason does not import pySigma, which takes a fifth of a
second: servers have rules parsed in a process of its own.
"""


class UnsupportedError(Exception):
    """What cannot be evaluated; `reason` is a stable word."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
