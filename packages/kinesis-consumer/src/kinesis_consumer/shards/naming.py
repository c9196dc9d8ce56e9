"""Whether leases name their stream, as those of a KCL with several streams do, or not, as those of a KCL with one."""

from __future__ import annotations

from collections.abc import Collection

from kinesis_consumer.errors import GroupStateError
from kinesis_core.leases import Lease


def names_streams(leases: Collection[Lease], streams: int) -> bool:
    """
    Return whether the leases of a group name their stream: as those in its table do; in a new group, if it has several *streams*.

    Raises:
        GroupStateError: The leases do not fit to the number of streams, or to each other.
    """
    named = any(lease.stream_id for lease in leases) if leases else streams > 1
    verify_naming(leases, named=named or streams > 1)
    return named


def verify_naming(leases: Collection[Lease], *, named: bool) -> None:
    """
    Verify that all *leases* name their stream, or none does.

    A worker would take leases of the other kind for missing ones, and create them again where the group starts: records would be lost.

    Raises:
        GroupStateError: Some are of the other kind.
    """
    others = sorted(lease.key for lease in leases if (lease.stream_id is not None) is not named)
    if not others:
        return
    if len(others) < len(leases):
        fitting = min(lease.key for lease in leases if lease.key not in others)
        raise GroupStateError(
            f"The table has leases of a group with one stream and of a group with several, such as {min(fitting, others[0])} and "
            f"{max(fitting, others[0])}. Nobody knows which of them count. Stop all workers, and delete the leases of one kind."
        )
    if named:
        raise GroupStateError(
            f"The table has the leases of a group with one stream, such as {others[0]}, and the group is opened with several streams, "
            "whose leases name the stream. Open it with its one stream, and a group with another application name for each further "
            "stream. To read all of them in one group, stop this one, and open a group with another application name, and with "
            "`start` at a time before the stop: it delivers the records since then again."
        )
    raise GroupStateError(
        f"The table has the leases of a group with several streams, such as {others[0]}, and was empty when this worker was opened with "
        "one stream. Open all workers of a group with the same streams."
    )
