"""The figures of a run."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from attrs import frozen

from tools.consumer_chaos.journal import Delivery
from tools.consumer_chaos.verdict import repeated_records
from tools.consumer_chaos.workers import Incident


@frozen
class Outcome:
    """What happened in a run."""

    records: int
    batches: int
    repeated: int
    """Records that were delivered again, counted each time."""
    uncommitted: Counter[str]
    """Deliveries of batches that were not committed, by what their worker knows of the commit."""
    incidents: Counter[str]
    reshards: int
    gaps_s: dict[str, list[float]]
    """From a kill or stop until the next batch of each shard was delivered by another worker."""
    seconds: float
    problems: tuple[str, ...]
    evidence: tuple[str, ...] = ()
    """What helps to explain the problems: the leases, and what each worker logged last."""

    @staticmethod
    def of(
        deliveries: Sequence[Delivery],
        incidents: Sequence[Incident],
        *,
        records: int,
        reshards: int,
        seconds: float,
        problems: tuple[str, ...],
        evidence: tuple[str, ...] = (),
    ) -> Outcome:
        gaps: dict[str, list[float]] = defaultdict(list)
        for kind, gap_s in _gaps(deliveries, incidents):
            gaps[kind].append(gap_s)
        return Outcome(
            records,
            len({each.batch_id for each in deliveries}),
            repeated_records(deliveries),
            Counter(each.outcome for each in deliveries if each.outcome != "committed"),
            Counter(each.kind for each in incidents),
            reshards,
            dict(gaps),
            seconds,
            problems,
            evidence,
        )

    def lines(self) -> Iterator[str]:
        """Yield the figures as text."""
        counts = ", ".join(f"{kind}: {count}" for kind, count in sorted(self.incidents.items()))
        yield f"{self.records} records in {self.batches} batches, {self.seconds:.0f} s, {counts}, reshards: {self.reshards}"
        outcomes = ", ".join(f"{kind}: {count}" for kind, count in sorted(self.uncommitted.items()))
        yield f"delivered again: {self.repeated} records; deliveries without a commit: {outcomes or 'none'}"
        for kind, gaps_s in sorted(self.gaps_s.items()):
            yield (
                f"from a {kind} to the shard's next batch: median {median(gaps_s):.2f} s, "
                f"max {max(gaps_s):.2f} s, {len(gaps_s)} shards"
            )
        yield from (f"PROBLEM: {problem}" for problem in self.problems)
        yield from self.evidence


def _gaps(deliveries: Iterable[Delivery], incidents: Sequence[Incident]) -> Iterator[tuple[str, float]]:
    """
    Yield how long each shard of a worker that ended was without one.

    Shards without later batches do not count. Gaps in which something happened to another worker, too, are apart.
    """
    by_shard: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda delivery: delivery.at_s):
        by_shard[delivery.shard_id].append(delivery)
    for incident in incidents:
        for shard_id in incident.shards:
            of_shard = by_shard[shard_id]
            begin = bisect_right(of_shard, incident.at_s, key=lambda delivery: delivery.at_s)
            later = (each for each in of_shard[begin:] if each.worker != incident.worker)
            if (first := next(later, None)) is not None:
                is_calm = not any(incident.at_s < other.at_s < first.at_s for other in incidents)
                yield (
                    incident.kind if is_calm else f"{incident.kind} among others",
                    first.at_s - incident.at_s,
                )
