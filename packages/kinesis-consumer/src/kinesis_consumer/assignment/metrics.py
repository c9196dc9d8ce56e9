"""
The item by which a worker of a KCL 3.x application says that it is alive. A leader gives leases to no other workers.

The KCL writes what the machine of the worker is busy with as well. This package writes empty metrics, which are valid.

Source: WorkerMetricStats and LeaseAssignmentManager of the KCL 3.5
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import define, evolve, field, frozen

from kinesis_consumer.stores import Update
from kinesis_core.leases import ENTITY_TYPE, LEASE_KEY, Item, Value

WORKER_METRICS = "WORKER_METRIC_STATS"
UPDATED = "lut"
SUPPORTS_ONE_TABLE = 1
ACTIVE_S = 60.0
REPORT_S = 10.0
"""How often a worker of this package reports, or more often where leases are shorter. A KCL reports each 30 s."""
_PROPERTIES = "properties"
"""A map of texts that the KCL has in its items, and does not use."""
_PERIOD = "reportSeconds"
_STREAMS = "streams"
_MISSED = 2.5
"""So many periods after its last report a worker counts as dead."""
FRESH_S = 12.0
"""A report that is younger was written by a worker of this package at most one period ago."""
FORGOTTEN_S = 24 * 3600.0


@frozen
class WorkerReport:
    """That a worker was alive."""

    worker: str
    updated: int
    """Seconds since the epoch by the clock of the worker."""
    active_s: float = ACTIVE_S
    """For how long the report is believed."""
    streams: frozenset[str] | None = None
    """The streams that the worker reads, by their id in leases. None: any, as the workers of a KCL, or the only one of the group."""


def report_alive(
    worker: str, wall_s: float, period_s: float = REPORT_S, streams: Collection[str] = ()
) -> Update:
    """
    Return the write that says that *worker* is alive, and will say it again. It makes the item if there is none.

    A worker that is killed leaves its report. It has no leases then, so a leader prefers it: each lease that it gets is idle until
    it expires. So it should not be believed for longer than needed. *streams* are those that it reads, if the group has several.
    """
    now = int(wall_s)
    properties: dict[str, Value] = {_PERIOD: f"{period_s:g}"}
    if streams:
        properties[_STREAMS] = " ".join(sorted(streams))
    return Update(
        worker,
        expect={},
        set={
            ENTITY_TYPE: WORKER_METRICS,
            UPDATED: now,
            "sts": {},
            "opr": {},
            "sup": SUPPORTS_ONE_TABLE,
            "slu": now,
            _PROPERTIES: properties,
        },
    )


def read_report(item: Item) -> WorkerReport | None:
    """Return the report in *item*; None if it is another item, or malformed."""
    worker, updated = item.get(LEASE_KEY), item.get(UPDATED)
    is_report = item.get(ENTITY_TYPE) == WORKER_METRICS
    if not is_report or not isinstance(worker, str) or not isinstance(updated, (int, float)):
        return None
    properties = item.get(_PROPERTIES)
    known = properties if isinstance(properties, dict) else {}
    return WorkerReport(worker, int(updated), _active_s(known.get(_PERIOD)), _streams(known.get(_STREAMS)))


def _streams(text: object) -> frozenset[str] | None:
    return frozenset(text.split()) if isinstance(text, str) else None


def _active_s(period: object) -> float:
    try:
        return min(ACTIVE_S, float(period) * _MISSED) if isinstance(period, str) else ACTIVE_S
    except ValueError:
        return ACTIVE_S


@frozen
class _Seen:
    updated: int
    seen_s: float
    """When the report was last seen to change, by the steady clock."""
    active_s: float
    streams: frozenset[str] | None = None
    is_suspect: bool = False


@define
class Roster:
    """
    Which workers are alive, as their reports say.

    A report that changes is believed for a minute from then on, by the steady clock of this process. Only the first sight of a
    report compares clocks of two machines, as the KCL always does.

    A killed worker leaves its report. An earlier leader may have given its leases to others, so that nothing else shows that it is
    dead. So an older report is believed at first sight only if its worker has leases.
    """

    _seen: dict[str, _Seen] = field(factory=dict, init=False)

    def look(
        self, reports: Iterable[WorkerReport], now_s: float, wall_s: float, working: Collection[str] = ()
    ) -> None:
        """Remember *reports*, which are those of all workers. *working* are the workers that have leases."""
        self._seen = {
            each.worker: _look(self._seen.get(each.worker), each, now_s, wall_s, each.worker in working)
            for each in reports
        }

    def suspect(self, workers: Iterable[str]) -> None:
        """Give nothing to *workers* until their reports change: they do not renew what they have."""
        for worker in workers:
            if worker in self._seen:
                self._seen[worker] = evolve(self._seen[worker], is_suspect=True)

    def suspects(self) -> set[str]:
        """Return the workers that get nothing until their reports change."""
        return {worker for worker, seen in self._seen.items() if seen.is_suspect}

    def active(self, now_s: float) -> set[str]:
        """Return the workers that may be given leases."""
        return {
            worker
            for worker, seen in self._seen.items()
            if not seen.is_suspect and now_s - seen.seen_s <= seen.active_s
        }

    def knows(self, worker: str, stream_id: str | None) -> bool:
        """Return whether *worker* can read a shard of that stream, as far as its report says."""
        seen = self._seen.get(worker)
        return seen is None or seen.streams is None or stream_id in seen.streams

    def forgotten(self, now_s: float) -> list[WorkerReport]:
        """Return the reports that have not changed for a day."""
        return [
            WorkerReport(worker, seen.updated)
            for worker, seen in self._seen.items()
            if now_s - seen.seen_s > FORGOTTEN_S
        ]


def _look(last: _Seen | None, report: WorkerReport, now_s: float, wall_s: float, is_working: bool) -> _Seen:
    updated = report.updated
    if last is None:
        age_s = max(0.0, wall_s - updated)
        is_suspect = age_s > FRESH_S and not is_working
        return _Seen(updated, now_s - age_s, report.active_s, report.streams, is_suspect)
    return last if updated == last.updated else _Seen(updated, now_s, report.active_s, report.streams)
