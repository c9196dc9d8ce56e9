"""
Whether the leases in a table are those of the group that is opened: of its streams, and with their names if it has several.

A stream that was deleted and created again has shards with the same ids. But no position in the leases belongs to the new stream.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from kinesis_consumer.errors import GroupStateError
from kinesis_core.errors import StreamRecreatedError
from kinesis_core.leases import Lease, earlier_streams
from kinesis_core.model import Shard, by_id, show_time
from kinesis_credentials import Advice


def verify_stream(leases: Collection[Lease], stream: str, list_shards: Callable[[], Iterable[Shard]]) -> None:
    """
    Verify that the leases that may be those of *stream*, a name of the KCL, are. Shards are listed only if some do not say it.

    Raises:
        StreamRecreatedError: They are those of an earlier stream of that name.
        GroupStateError: They are those of another stream.
        ServiceError: The shards could not be listed.
    """
    name = stream.split(":")[1]
    earlier = earlier_streams(leases, stream)
    if earlier:
        raise StreamRecreatedError(
            f"Stream {name} was deleted and created again. The leases belong to the stream created at {_created(earlier[-1])}; the "
            f"present stream was created at {_created(stream)}.",
            advice=Advice.START_ANEW,
            stream=name,
        )
    others = sorted({str(lease.stream) for lease in leases if lease.stream_id is None} - {stream, "None"})
    if others:
        raise GroupStateError(
            f"The leases are of the stream {others[0]}, and this worker is opened with {stream}. Open it with the stream of the "
            "leases, or with another application name.",
            stream=name,
        )
    unsaid = [lease for lease in leases if lease.stream is None and lease.hash_range is not None]
    listing = by_id(list_shards()) if unsaid else {}
    for lease in unsaid:
        shard = listing.get(lease.shard_id)
        if shard is not None and lease.hash_range != (shard.hash_start, shard.hash_end):
            raise StreamRecreatedError(
                f"Stream {name} was deleted and created again. The leases belong to the deleted stream: the lease of "
                f"{lease.shard_id} has other hash keys than the present shard of this id.",
                advice=Advice.START_ANEW,
                stream=name,
            )


def _created(stream: str) -> str:
    return show_time(int(stream.rpartition(":")[2]) * 1000)


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
            f"The store has leases of a group with one stream and of a group with several, such as {min(fitting, others[0])} and "
            f"{max(fitting, others[0])}. Nobody knows which of them count. Stop all workers, and delete the leases of one kind."
        )
    if named:
        raise GroupStateError(
            f"The store has the leases of a group with one stream, such as {others[0]}. But this worker is opened with several "
            "streams, and then the keys of leases name the stream. Open it with its one stream, and a group with another application "
            "name for each further stream. To read all of them in one group, stop all workers of this group. Then open a group with another application name, and "
            "with `start` at a time before the stop. It delivers the records since then again."
        )
    raise GroupStateError(
        f"The table has the leases of a group with several streams, such as {others[0]}, and was empty when this worker was opened with "
        "one stream. Open all workers of a group with the same streams."
    )
