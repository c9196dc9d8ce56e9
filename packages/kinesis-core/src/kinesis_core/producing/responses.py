"""What is to be done about the answers to requests: note what is written, and send the rest again, or give up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import define

from kinesis_core.aws import is_retryable, log_retry
from kinesis_core.errors import ServiceError, ThrottledError
from kinesis_core.model import PutAnswer
from kinesis_core.producing.accumulator import Outbox
from kinesis_core.producing.entry_outcome import fates
from kinesis_core.producing.failures import THROTTLED
from kinesis_core.producing.shard_batch import Parcel

_NEVER_SENT = frozenset({"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError"})

Landing = tuple[Parcel, str]
"""A parcel, and a shard that it came to, which is another than it was made for."""
_MISPLACED = (
    "Kinesis puts them into a shard that does not own their keys, by its own list of shards. If the stream's "
    "RecordDistributionStrategy is AUTO and botocore is too old to know that, update it, or set aggregationEnabled=false."
)


@define(eq=False)
class Answers:
    """Gives every parcel of a request its end: it is written, back in the outbox, or lost with everybody told."""

    outbox: Outbox

    def settle(self, request: Sequence[Parcel], answer: PutAnswer, now_s: float) -> list[Landing]:
        """
        Note the answer to a request. Returns what came to another shard than it was made for: aggregates wait for
        `place`, plain records are written wherever they are.
        """
        landings: list[Landing] = []
        refused: list[Parcel] = []
        for parcel, fate in zip(request, fates(request, answer), strict=True):
            parcel.lane.landed(parcel)
            if fate.elsewhere is not None and self._matters(parcel, fate.elsewhere):
                landings.append((parcel, fate.elsewhere))
            if fate.written is not None and not (fate.elsewhere and parcel.is_aggregate):
                self.outbox.note_written(fate.written)
            if fate.refused is not None:
                refused.append(fate.refused)
        self._pace(request, refused, now_s)
        self._send_again(refused, [p for p in refused if not is_retryable(p.label.reason)], now_s)
        return landings

    def _matters(self, parcel: Parcel, shard_id: str) -> bool:
        """Return whether it is news that *parcel* came to the shard: where Kinesis chooses, plain records come anywhere."""
        router = self.outbox.router
        return parcel.is_aggregate or not router.is_auto or shard_id not in router.shards.ranges

    def take_back(self, request: Sequence[Parcel]) -> None:
        """Note that a request is not sent: where its records belong has changed since it was taken."""
        self.outbox.ledger.tally["requests"] -= 1
        for parcel in reversed(request):
            parcel.lane.landed(parcel)
            if self.outbox.failure is None:
                self.outbox.put_back(parcel)

    def bounce(
        self, request: Sequence[Parcel], error: ServiceError, now_s: float, *, may_pass: bool = False
    ) -> None:
        """Note that a request failed as a whole. It *may_pass* next time though the error is not of that kind."""
        is_throttled = isinstance(error, ThrottledError)
        is_unsure = error.retryable and not is_throttled and error.code not in _NEVER_SENT
        for parcel in request:
            parcel.lane.landed(parcel)
            parcel.label = parcel.label.again(error.code, str(error), is_unsure=is_unsure)
        self._pace(request, request, now_s, is_throttled=is_throttled)
        self._send_again(request, () if error.retryable or may_pass else request, now_s)

    def _pace(
        self,
        request: Sequence[Parcel],
        refused: Sequence[Parcel],
        now_s: float,
        *,
        is_throttled: bool = False,
    ) -> None:
        """Let each shard of a request go faster or slower."""
        tally, rng = self.outbox.ledger.tally, self.outbox.rng
        throttled = {
            parcel.lane: None for parcel in refused if is_throttled or parcel.label.reason == THROTTLED
        }
        failed = {parcel.lane: None for parcel in refused if parcel.lane not in throttled}
        for lane in throttled:
            lane.pace.throttled(now_s, rng)
        for lane in failed:
            lane.pace.failed(now_s, rng)
        for parcel in request:
            if parcel.lane not in throttled and parcel.lane not in failed:
                parcel.lane.pace.accepted(len(parcel.entries), parcel.size_bytes)
        for parcel in refused:
            tally["throttled" if parcel.lane in throttled else "failed"] += len(parcel.entries)

    def _send_again(self, refused: Sequence[Parcel], lost: Sequence[Parcel], now_s: float) -> None:
        if self.outbox.failure is not None or not refused:
            return
        if lost:
            self.outbox.give_up_parcels(lost, "Kinesis refused them")
            return
        self._log_retry(refused, min(parcel.lane.pace.rests_until_s for parcel in refused) - now_s)
        for parcel in reversed(refused):  # those that waited longest stay in front
            self.outbox.put_back(parcel)

    def _log_retry(self, refused: Sequence[Parcel], wait_s: float) -> None:
        """Log in one line that these, of one request, are sent again, the first of them after *wait_s*."""
        shards = {parcel.shard_id for parcel in refused}
        reason, _ = Counter(parcel.label.reason for parcel in refused).most_common(1)[0]
        log_retry(
            "PutRecords",
            reason,
            max(parcel.label.attempts for parcel in refused),
            wait_s,
            stream=self.outbox.stream,
            **({"shard": shards.pop()} if len(shards) == 1 else {"shards": len(shards)}),
            records=sum(len(parcel.entries) for parcel in refused),
        )

    # When the stream is resharded

    def unknown_shards(self, landings: Sequence[Landing]) -> list[str]:
        """Return the shards that these aggregates came to and the shard map does not have."""
        return sorted({shard_id for _, shard_id in landings} - self.outbox.router.shards.ranges.keys())

    def knows_why(self, landings: Sequence[Landing]) -> bool:
        """Return whether it is known why these records came to other shards: a reshard, or Kinesis chooses."""
        router = self.outbox.router
        return router.is_auto or all(
            shard_id in router.shards.ranges and parcel.lane.is_gone for parcel, shard_id in landings
        )

    def place(self, landings: Sequence[Landing]) -> None:
        """
        Decide on aggregates that came to another shard: they are written if all their user records belong there.

        If one does not, all are sent again: the KCL drops the whole of such an aggregate. Where nobody knows why,
        another aggregate would fare no better; plain records are at home wherever they come.
        """
        outbox, misplaced = self.outbox, []
        for parcel, shard_id in landings:
            if outbox.failure is not None or not outbox.router.misplaced(parcel.rows(), shard_id):
                outbox.note_written(parcel)
            else:
                outbox.ledger.tally["misplaced"] += parcel.user_records
                parcel.label = parcel.label.again("Misplaced", _MISPLACED, is_unsure=False)
                outbox.scatter(parcel, is_plain=not self.knows_why([(parcel, shard_id)]))
                misplaced.append(parcel)
        if misplaced:
            self._log_retry(misplaced, 0.0)

    def lose(self, landings: Sequence[Landing], error: ServiceError) -> None:
        """Give up: where these aggregates belong cannot be found out."""
        if self.outbox.failure is not None:
            return
        for parcel, _ in landings:
            parcel.label = parcel.label.again(error.code, str(error), is_unsure=False)
        lost = [parcel for parcel, _ in landings]
        self.outbox.give_up_parcels(lost, "the shards that they belong to cannot be listed")
