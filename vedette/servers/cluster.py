"""This server in a cluster, as the rest of the program uses it."""

from collections.abc import Callable
from dataclasses import dataclass

from vedette.errors import UnavailableError
from vedette.servers.membership import Membership
from vedette.servers.partition_changes import PartitionChanges
from vedette.servers.server_token import ServerTokens, is_digest_of
from vedette.servers.shared_numbers import SharedNumbers


@dataclass(frozen=True, slots=True)
class Cluster:
    """The parts of a cluster member; safe to share between threads."""

    membership: Membership
    numbers: SharedNumbers
    partition_changes: PartitionChanges
    tokens: ServerTokens
    now_us: Callable[[], int]

    def check_sender(self, authorization: str) -> str:
        """Returns the digest that the body of a request from another server must have.

        Raises UnauthorizedError for any other sender, UnavailableError while this server has left
        the others.
        """
        own_id = self.membership.id
        if not own_id:
            raise UnavailableError("this server is not among the others at the moment")
        return self.tokens.check(authorization, own_id, self.now_us()).digest

    @staticmethod
    def is_whole(digest: str, body: bytes) -> bool:
        """Whether the digest of a body is the signed one."""
        return is_digest_of(digest, body)
