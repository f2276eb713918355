"""The error for unsupported parts of a rule.

A separate module, so that code that handles the error need not import pySigma, which takes a fifth
of a second: servers parse rules in a separate process.
"""


class UnsupportedError(Exception):
    """Raised for a part of a rule that cannot be evaluated. `reason` is a stable identifier."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
