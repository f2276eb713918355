"""Takes submissions for all servers: each record goes to the server that has its host.

Which host a record is of is known only after decoding. So records go by the host that they name at
first sight: to the server that was found to have it, or to this one. Whoever decodes a record of a
host that it does not have stores nothing of it and says so (`Receipt.elsewhere`); then the record
goes to its server. A server that is sent records by another one never sends them on.

A receipt is returned when every record is stored. Otherwise the whole request fails, and what was
stored of it is recognised when it comes again (`pipeline/request_parts.py`).
"""

import asyncio
from collections.abc import Callable, Sequence

from vedette.errors import BusyError, UnavailableError
from vedette.ingest.framing.host_prefilter import likely_hosts
from vedette.limits import FORWARD_ROUNDS_MAX, FORWARDED_NAMES_MAX
from vedette.model.ids import slot_of
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.pipeline.receipt_outcomes import merge_hosts
from vedette.pipeline.request_parts import parts_of
from vedette.pipeline.submission import NO_OUTCOME, Receipt, Submission
from vedette.servers.forwarding import Forwarding
from vedette.servers.membership import Membership

_Places = dict[str, list[int]]
"""Positions of texts by the id of the server that they go to; "" for this one."""


class HostRouter:
    """`Intake` of a cluster, for the event loop."""

    def __init__(
        self, ingest_queue: IngestQueue, membership: Membership, forwarding: Forwarding
    ) -> None:
        self._ingest_queue = ingest_queue
        self._membership = membership
        self._forwarding = forwarding
        self._slot_of_name: dict[bytes, int] = {}
        """Of the hosts that other servers had, by the name at first sight."""

    async def submit(self, submission: Submission) -> Receipt:
        """The receipt, once every accepted record is stored, wherever.

        Raises BusyError when a queue is full, UnavailableError when a server cannot be reached, a
        commit fails, or nobody has a host.
        """
        names = _names(submission)
        submission.parts = parts_of(names)
        merged = _Merged(submission)
        places = self._first_places(names)
        for _ in range(FORWARD_ROUNDS_MAX):
            await self._deliver(submission, places, merged)
            if not merged.elsewhere:
                return merged.receipt
            self._learn(names, merged.elsewhere)
            places = self._places_of(merged.elsewhere)
        raise UnavailableError("hosts of these records are changing servers", reason="moving")

    async def submit_in_order(self, submission: Submission, queued: Callable[[], None]) -> Receipt:
        """`submit` of a part of an import. The next part waits until this one is stored: it may be
        for other servers."""
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
            raise UnavailableError("no server has these hosts at the moment", reason="moving")
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
        """Sends each server its texts, all at once, and merges what they answer."""
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
            raise UnavailableError("the server that had these hosts has ended", reason="moving")
        return await self._forwarding.send(self._membership.id, to, portion)


class _Merged:
    """The receipt of a whole request, from those of its portions."""

    def __init__(self, submission: Submission) -> None:
        self.receipt = Receipt(bytearray([NO_OUTCOME]) * len(submission.records))
        self.asked: set[int] = set()
        """Positions that some server has answered for."""
        self.elsewhere: dict[int, set[int]] = {}
        """By position, the sensors that no server which was asked has."""

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
    """The texts at some positions; of those that a server has answered for, what is wrong with the
    text itself is not said again."""
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
    )


def _names(submission: Submission) -> list[bytes]:
    if submission.host:
        return [submission.host.encode()] * len(submission.records)
    return likely_hosts(submission.records)
