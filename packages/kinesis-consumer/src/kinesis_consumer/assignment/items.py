"""Leases among the items of a table."""

from __future__ import annotations

from collections.abc import Iterable

from kinesis_core.leases import LEASE_KEY, Item, Lease, LeaseItemError, is_lease, read_lease


def read_leases(items: Iterable[Item]) -> tuple[list[Lease], list[str]]:
    """
    Return the leases in *items*, by key, and the keys of malformed ones.

    One malformed item does not stop the group.
    """
    leases: list[Lease] = []
    malformed: list[str] = []
    for item in items:
        if not is_lease(item):
            continue
        try:
            leases.append(read_lease(item))
        except LeaseItemError:
            malformed.append(str(item.get(LEASE_KEY)))
    return sorted(leases, key=lambda lease: lease.key), sorted(malformed)
