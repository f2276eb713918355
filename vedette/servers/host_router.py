"""Takes submissions for all servers: each record goes to the server that owns its host.

The host of a record is certain only after decoding. So records are routed by the host that they
name at first sight: to the server that owns it as far as this server has learned, else to this
server. A server that decodes a record of a host that it does not own stores nothing of it and
reports it (`Receipt.elsewhere`); then the record goes to its owner. A server never forwards records
that another server sent.

A receipt is returned when every record is stored. Otherwise the whole request fails, and the
records already stored are deduplicated when it is sent again (`pipeline/request_parts.py`).
"""

import asyncio
from collections.abc import Callable, Sequence

from vedette.errors import BusyError, UnavailableError
from vedette.ingest.framing.host_prefilter import likely_hosts
from vedette.limits import Limit
from vedette.model.ids import slot_of
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.pipeline.receipt_outcomes import merge_hosts
from vedette.pipeline.request_parts import parts_of
from vedette.pipeline.submission import NO_OUTCOME, Receipt, Submission
from vedette.servers.forwarding import Forwarding
from vedette.servers.membership import Membership

FORWARD_ROUNDS_MAX: Limit[int] = 3
"""Rounds in which records of one request are sent to another server because their hosts belong
there: more are needed only while servers come and go."""

FORWARDED_NAMES_MAX: Limit[int] = 500_000
"""Names of hosts of other servers, by which records are forwarded undecoded; about 100 bytes
each."""


_Places = dict[str, list[int]]
"""Maps server id to positions of texts; "" is this server."""


class HostRouter:
    """`Intake` of a cluster, for the event loop."""

    def __init__(
        self, ingest_queue: IngestQueue, membership: Membership, forwarding: Forwarding
    ) -> None:
        self._ingest_queue = ingest_queue
        self._membership = membership
        self._forwarding = forwarding
        self._slot_of_name: dict[bytes, int] = {}
        """Maps host name at first sight to slot, for hosts that other servers owned."""

    async def submit(self, submission: Submission) -> Receipt:
        """Returns the receipt once every accepted record is stored, on any server.

        Raises BusyError when a queue is full, UnavailableError when a server cannot be reached, a
        commit fails, or no server owns a host.
        """
        names = _names(submission)
        submission.parts = parts_of(names)
        names = submission.keys(names)
        merged = _Merged(submission)
        places = self._first_places(names)
        for _ in range(FORWARD_ROUNDS_MAX):
            await self._deliver(submission, places, merged)
            if not merged.elsewhere:
                return merged.receipt
            self._learn(names, merged.elsewhere)
            places = self._places_of(merged.elsewhere)
        raise UnavailableError(
            "the hosts of these records are moving between servers", reason="moving"
        )

    async def submit_in_order(self, submission: Submission, queued: Callable[[], None]) -> Receipt:
        """Like `submit`, for a part of an import. The next part waits until this one is stored,
        because it may go to other servers."""
        receipt = await self.submit(submission)
        queued()
        return receipt

    def _first_places(self, names: Sequence[bytes]) -> _Places:
        server_of = {name: self._server_of(self._slot_of_name.get(name)) for name in set(names)}
        places: _Places = {}
        for position, name in enumerate(names):
            places.setdefault(server_of[name], []).append(position)
        return places

    def _server_of(self, slot: int | None) -> str:
        if slot is None:
            return ""
        owner = self._membership.owner(slot)
        if owner is None:
            raise UnavailableError("no server owns these hosts", reason="moving")
        return "" if owner.id == self._membership.id else owner.id

    def _places_of(self, elsewhere: dict[int, set[int]]) -> _Places:
        places: _Places = {}
        for position, sensors in sorted(elsewhere.items()):
            for server in {self._server_of(slot_of(sensor)) for sensor in sensors}:
                places.setdefault(server, []).append(position)
        return places

    def _learn(self, names: Sequence[bytes], elsewhere: dict[int, set[int]]) -> None:
        if len(self._slot_of_name) > FORWARDED_NAMES_MAX:
            self._slot_of_name.clear()
        for position, sensors in elsewhere.items():
            if names[position]:
                self._slot_of_name[names[position]] = slot_of(min(sensors))

    async def _deliver(self, whole: Submission, places: _Places, merged: "_Merged") -> None:
        """Sends each server its texts, concurrently, and merges the receipts."""
        deliveries = [
            self._send(server, _portion(whole, positions, merged))
            for server, positions in places.items()
        ]
        answers = await asyncio.gather(*deliveries, return_exceptions=True)
        failures = [one for one in answers if isinstance(one, BaseException)]
        if failures:
            raise next((one for one in failures if isinstance(one, BusyError)), failures[0])
        for positions, receipt in zip(places.values(), answers, strict=True):
            assert isinstance(receipt, Receipt)
            merged.add(positions, receipt)

    async def _send(self, server: str, portion: Submission) -> Receipt:
        if not server:
            return await self._ingest_queue.submit(portion)
        to = self._membership.view.servers.get(server)
        if to is None:
            raise UnavailableError("the server that owned these hosts has stopped", reason="moving")
        return await self._forwarding.send(self._membership.id, to, portion)


class _Merged:
    """The receipt of a whole request, merged from those of its portions."""

    def __init__(self, submission: Submission) -> None:
        self.receipt = Receipt(bytearray([NO_OUTCOME]) * len(submission.records))
        self.asked: set[int] = set()
        """Positions that a server has processed."""
        self.elsewhere: dict[int, set[int]] = {}
        """Maps position to the sensors that no queried server owns."""

    def add(self, positions: Sequence[int], answer: Receipt) -> None:
        receipt = self.receipt
        for own, position in enumerate(positions):
            receipt.outcomes[position] = min(receipt.outcomes[position], answer.outcomes[own])
            left = set(answer.elsewhere.get(own, ()))
            if position in self.asked:
                left &= self.elsewhere.get(position, set())
            if left:
                self.elsewhere[position] = left
            else:
                self.elsewhere.pop(position, None)
        self.asked.update(positions)
        for refusal in answer.refusals:
            refusal.position = positions[refusal.position]
            receipt.refusals.append(refusal)
        receipt.refusals.sort(key=lambda one: one.position)
        receipt.conflicts += answer.conflicts
        merge_hosts(receipt.hosts, answer.hosts)
        for entry, count in answer.tally.items():
            receipt.tally[entry] = receipt.tally.get(entry, 0) + count


def _portion(whole: Submission, positions: Sequence[int], merged: _Merged) -> Submission:
    """Returns the texts at some positions. For texts that a server has already processed, errors of
    the text itself are not reported again."""
    if len(positions) == len(whole.records) and not merged.asked:
        return whole
    records = [whole.records[position] for position in positions]
    return Submission(
        records,
        whole.group_id,
        whole.request_key,
        sum(map(len, records)),
        whole.in_sequence,
        whole.host,
        whole.comms_ip,
        [own for own, position in enumerate(positions) if position in merged.asked],
        whole.peer_ip,
        whole.any_group,
        [whole.parts[position] for position in positions],
        whole.sensor_id,
    )


def _names(submission: Submission) -> list[bytes]:
    if submission.host:
        return [submission.host.encode()] * len(submission.records)
    return likely_hosts(submission.records)
