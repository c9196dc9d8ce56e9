"""The kinds of advice."""

from __future__ import annotations

from attrs import frozen


@frozen
class TooLittle:
    """There was too little traffic to judge the stream by."""

    records: int


@frozen
class Fine:
    """Nothing would help."""


@frozen
class Split:
    """Split a hot shard where its traffic is halved."""

    shard_id: str
    load: float
    new_start: int
    """The first hash key of the second child."""
    first_share: float
    """The share of the traffic that the first child gets."""


@frozen
class SplitInTheMiddle:
    """Split a hot shard in the middle of its hash keys, because the hash keys of its records are not known."""

    shard_id: str
    load: float
    new_start: int


@frozen
class HotKey:
    """One key carries most of a hot shard. No split divides it."""

    shard_id: str
    load: float
    key: str
    share: float
    """The key's share of the shard's traffic."""
    is_on_demand: bool


@frozen
class LeftToKinesis:
    """A shard of an on-demand stream is hot. Kinesis splits it by itself."""

    shard_id: str
    load: float


@frozen
class Merge:
    """Merge two adjacent shards that have little to do."""

    shard_id: str
    adjacent_id: str
    load: float
    """Of both together."""


@frozen
class Scale:
    """Change the number of shards, because all of them are equally busy."""

    shards: int
    target: int
    load: float
    """The mean of all shards."""


Advice = TooLittle | Fine | Split | SplitInTheMiddle | HotKey | LeftToKinesis | Merge | Scale
