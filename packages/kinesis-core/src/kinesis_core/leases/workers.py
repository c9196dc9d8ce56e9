"""Whether the workers of a KCL application may still run, as one look at its lease table shows."""

from __future__ import annotations

from collections.abc import Iterable

from kinesis_core.leases.attributes import Item
from kinesis_core.leases.items import ENTITY_TYPE
from kinesis_core.leases.lease import LEASE_KEY, Lease
from kinesis_credentials.logs import get_logger

_METRICS = "WORKER_METRIC_STATS"
_ALIVE_S = 120
"""A worker of KCL 3.5 writes the time every 30 seconds, from its own clock."""
_SHOWN = 10

log = get_logger("kinesis_core")


def warn_of_workers(table: str, leases: Iterable[Lease], others: Iterable[Item], now_ms: int) -> None:
    """
    Log which workers may still run: they and the query would both process the records from here on.

    KCL 3.5 keeps the time of each worker's last sign of life in the table. Otherwise only the owners of leases are known, whom a
    KCL that was stopped usually leaves behind.
    """
    seen_s = {str(item[LEASE_KEY]): item.get("lut") for item in others if item.get(ENTITY_TYPE) == _METRICS}
    if seen_s:
        alive = {
            w for w, at_s in seen_s.items() if isinstance(at_s, int) and now_ms / 1000 - at_s <= _ALIVE_S
        }
        _warn(table, alive, "they have reported to the table within the last two minutes, so they run")
    else:
        owners = {lease.actual_owner for lease in leases if lease.actual_owner and not lease.is_finished}
        _warn(table, owners, "they own leases, and the table does not tell whether they still run")


def _warn(table: str, workers: set[str], reason: str) -> None:
    if workers:
        names = sorted(workers)
        shown = ", ".join(names[:_SHOWN]) + (
            f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        )
        log.warning("lease.owned", table=table, workers=shown, reason=reason)
