"""Interface of the transport between the server and one worker process.

The protocol (`protocol.py`) does not depend on the transport; `socket_channel.py` is the transport
between processes of one machine.
"""

from typing import Protocol, TypeVar

import msgspec

Incoming_co = TypeVar("Incoming_co", covariant=True)


class MessageChannel(Protocol[Incoming_co]):
    """A connection that carries whole messages in order. One thread may send while another
    receives. Sending and receiving raise ConnectionError once the peer is gone."""

    def send(self, message: msgspec.Struct) -> None:
        """Sends a message. Blocks while the peer does not read."""

    def receive(self) -> Incoming_co:
        """Returns the next message. Blocks until it has arrived."""

    def fileno(self) -> int:
        """Returns the file descriptor for selectors: readable when a message arrives or the peer
        hangs up."""

    def shut(self) -> None:
        """Disconnects both ends; threads that are sending or receiving get ConnectionError."""

    def close(self) -> None:
        """Releases the descriptor. No other thread may be using the channel."""
