"""
Whether leases are of the streams that a worker was opened with. A stream that was deleted and created again has shards of the same
ids, and none of the positions in the leases is one of it.
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
            f"The leases are of a stream {name} created at {_created(earlier[-1])}. This one was created at {_created(stream)}: it was "
            "deleted and created again, and the leases do not apply to it.",
            advice=Advice.START_ANEW,
            stream=name,
        )
    others = sorted({str(lease.stream) for lease in leases if lease.stream_id is None} - {stream, "None"})
    if others:
        raise GroupStateError(
            f"The leases are of the stream {others[0]}, and the group is opened with {stream}. Open it with its stream, or give the "
            "group another application name.",
            stream=name,
        )
    unsaid = [lease for lease in leases if lease.stream is None and lease.hash_range is not None]
    listing = by_id(list_shards()) if unsaid else {}
    for lease in unsaid:
        shard = listing.get(lease.shard_id)
        if shard is not None and lease.hash_range != (shard.hash_start, shard.hash_end):
            raise StreamRecreatedError(
                f"The lease of {lease.shard_id} has other hash keys than the shard: the stream was deleted and created again since the "
                "lease was made, and the leases do not apply to it.",
                advice=Advice.START_ANEW,
                stream=name,
            )


def _created(stream: str) -> str:
    return show_time(int(stream.rpartition(":")[2]) * 1000)
