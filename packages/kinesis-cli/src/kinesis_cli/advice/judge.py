"""Judges the samples of a stream: what would help it. It makes no call and reads no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil

from attrs import frozen

from kinesis_cli.traffic import HOT, Sample
from kinesis_core.model import Shard, StreamSummary, WarmThroughput


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
class WarmUp:
    """Before a peak that is expected, scale an on-demand stream by hand. Its shards are busy, and none by one key."""

    used_mib_s: float
    """Of the capacity of shards, where many small records use as much as few large ones."""
    warm: WarmThroughput | None
    """What the stream is scaled to; None if it reports nothing."""
    wanted: int | None
    """A warm throughput that leaves room for twice the sampled traffic. None: it has one, or reports none."""


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


Recommendation = TooLittle | Fine | Split | SplitInTheMiddle | HotKey | LeftToKinesis | WarmUp | Merge | Scale


Weight = tuple[int, float]
"""A hash key and its traffic."""


@frozen
class HashCut:
    """A cut between two hash keys of a shard."""

    new_start: int
    """The first hash key of the second half."""
    first_share: float
    """The share of the traffic before it."""

    @property
    def larger_share(self) -> float:
        return max(self.first_share, 1 - self.first_share)


def halve(weights: Sequence[Weight], hash_start: int, hash_end: int) -> HashCut | None:
    """
    Return the cut that halves *weights* best; None if no cut divides them. The hash keys of *weights* increase.

    Kinesis accepts a new starting hash key from *hash_start* + 2 to *hash_end* - 1.

    Source: the messages of SplitShard's InvalidArgumentException
    """
    total = sum(weight for _, weight in weights)
    best: HashCut | None = None
    before = 0.0
    for (last, weight), (first, _) in pairwise(weights):
        before += weight
        new_start = min(first, hash_end - 1)
        if new_start <= last or new_start < hash_start + 2:
            continue
        cut = HashCut(new_start, before / total)
        if best is None or cut.larger_share < best.larger_share:
            best = cut
    return best


FEWEST_RECORDS = 100
"""Fewer user records in a whole stream show nothing about its shards."""
HOT_KEY = 0.5
"""From this share of a hot shard's traffic on, a key is named."""
WORTH_A_SPLIT = 0.8
"""A split that leaves more than this in one half does not help."""
MERGE_BELOW = 0.4
"""Two shards are merged if the sum of their loads is less than this. It is half of a hot load, so that the next peak does not split them again."""
COLD = 0.2
GOAL = 0.6
"""The load that a new number of shards aims at."""
ROOM = 2
"""How much more than the sampled traffic a warm throughput leaves room for."""
MAX_WARM_MIB_S = 10 * 1024
"""10 GiB/s. Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateStreamWarmThroughput.html"""
EVEN = 1.5
"""Shards are equally busy, or equally large, if the largest has at most this much more than the mean, and the least not less."""


def advise(
    summary: StreamSummary, shards: Sequence[Shard], samples: Mapping[str, Sample]
) -> list[Recommendation]:
    """Return what would help the stream: advice on hot shards first, the hottest at the top."""
    known = [shard for shard in shards if shard.is_open and shard.shard_id in samples]
    hot = sorted(
        (shard for shard in known if samples[shard.shard_id].is_hot),
        key=lambda one: -samples[one.shard_id].load,
    )
    records = sum(samples[shard.shard_id].user_records for shard in known)
    if records < FEWEST_RECORDS and not hot:
        return [TooLittle(records)]
    if summary.is_on_demand:
        advice = [_on_demand(shard, samples[shard.shard_id], summary) for shard in hot]
        if any(isinstance(one, LeftToKinesis) for one in advice):
            advice.append(_warm_up(summary, samples.values()))
        return advice or [Fine()]
    split = [one for shard in hot for one in _provisioned(shard, samples[shard.shard_id])]
    hot_keys = [one for one in split if isinstance(one, HotKey)]
    if len(known) == sum(shard.is_open for shard in shards) and not hot_keys:
        scale = _scale(known, samples)
        if scale is not None:
            return [scale]
    return [*split, *_merges(known, samples)] or [Fine()]


def _on_demand(shard: Shard, sample: Sample, summary: StreamSummary) -> Recommendation:
    key = None if summary.is_auto_distributed else _hot_key(shard, sample, is_on_demand=True)
    return key or LeftToKinesis(shard.shard_id, sample.load)


def _warm_up(summary: StreamSummary, samples: Iterable[Sample]) -> WarmUp:
    used = sum(sample.load for sample in samples)  # a shard accepts 1 MiB/s
    room = min(ceil(ROOM * used), MAX_WARM_MIB_S)
    is_cold = summary.warm is not None and room > max(summary.warm.current, summary.warm.target)
    return WarmUp(used, summary.warm, room if is_cold else None)


def _provisioned(shard: Shard, sample: Sample) -> list[Recommendation]:
    key = _hot_key(shard, sample, is_on_demand=False)
    return [one for one in (key, _split(shard, sample, has_hot_key=key is not None)) if one is not None]


def _hot_key(shard: Shard, sample: Sample, *, is_on_demand: bool) -> HotKey | None:
    if not sample.keys:
        return None
    top = max(sample.keys, key=sample.weigh)
    share = sample.weigh(top) / max(sample.weight, sum(map(sample.weigh, sample.keys)))
    return None if share < HOT_KEY else HotKey(shard.shard_id, sample.load, top.key, share, is_on_demand)


def _split(shard: Shard, sample: Sample, *, has_hot_key: bool) -> Split | SplitInTheMiddle | None:
    weights = [(place.hash_key, sample.weigh(place)) for place in sample.places]
    if 2 * sum(weight for _, weight in weights) < sample.weight:
        middle = (shard.hash_start + shard.hash_end + 1) // 2
        is_possible = shard.hash_start + 1 < middle < shard.hash_end and not has_hot_key
        return SplitInTheMiddle(shard.shard_id, sample.load, middle) if is_possible else None
    cut = halve(weights, shard.hash_start, shard.hash_end)
    if cut is None or cut.larger_share > WORTH_A_SPLIT:
        return None
    return Split(shard.shard_id, sample.load, cut.new_start, cut.first_share)


def _scale(shards: Sequence[Shard], samples: Mapping[str, Sample]) -> Scale | None:
    """Return another number of shards, if all are equally busy and equally large: UpdateShardCount makes them so."""
    loads = [samples[shard.shard_id].load for shard in shards]
    count, total = len(shards), sum(loads)
    if count < 2 or not (_is_even(loads) and _is_even([one.hash_end - one.hash_start + 1 for one in shards])):
        return None
    wanted = ceil(total / GOAL)
    if min(loads) >= HOT:
        target = min(2 * count, wanted)
    elif max(loads) < COLD:
        target = max(ceil(count / 2), wanted)
    else:
        return None
    return Scale(count, target, total / count)


def _is_even(values: Sequence[float]) -> bool:
    mean = sum(values) / len(values)
    return max(values) <= EVEN * mean and min(values) * EVEN >= mean


def _merges(shards: Sequence[Shard], samples: Mapping[str, Sample]) -> list[Recommendation]:
    """Return pairs of adjacent shards with little traffic, each shard in one pair at most."""
    merges: list[Recommendation] = []
    taken = None
    ordered = sorted(shards, key=lambda shard: shard.hash_start)
    for one, other in pairwise(ordered):
        load = samples[one.shard_id].load + samples[other.shard_id].load
        if one.shard_id == taken or one.hash_end + 1 != other.hash_start or load >= MERGE_BELOW:
            continue
        merges.append(Merge(one.shard_id, other.shard_id, load))
        taken = other.shard_id
    return merges
