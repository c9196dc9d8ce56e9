"""The streams of a group."""

from __future__ import annotations

from attrs import frozen

from kinesis_consumer.delivery import Feed
from kinesis_core.aws import StreamApi


@frozen
class Source:
    """One stream of a group."""

    name: str
    """What the group calls it: see `name_streams`."""
    pages: Feed
    api: StreamApi
    initial_ms: int | None = None
    """The time where a new group begins, if the user gave one."""
    stream_id: str = ""
    """The KCL's name of the stream, which leases carry."""
