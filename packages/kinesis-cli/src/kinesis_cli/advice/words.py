"""Each advice as a sentence or two, and the call of the AWS CLI that carries it out. Calls are printed, never made."""

from __future__ import annotations

import shlex

from attrs import frozen

from kinesis_cli.advice.judge import (
    Fine,
    HotKey,
    LeftToKinesis,
    Merge,
    Recommendation,
    Scale,
    Split,
    SplitInTheMiddle,
    TooLittle,
    WarmUp,
)
from kinesis_cli.output import show_count
from kinesis_cli.traffic import show_key


@frozen
class AwsCli:
    """Prints calls on one stream, with the options by which the user reached it. The ARN keeps them from another account."""

    arn: str
    region: str
    endpoint_url: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    """A role that the user asked for. The AWS CLI has no option for it."""

    def split(self, shard_id: str, new_start: int) -> str:
        """Return the call that splits a shard."""
        return self._call(
            "split-shard", "--shard-to-split", shard_id, "--new-starting-hash-key", str(new_start)
        )

    def merge(self, shard_id: str, adjacent_id: str) -> str:
        """Return the call that merges two shards."""
        return self._call(
            "merge-shards", "--shard-to-merge", shard_id, "--adjacent-shard-to-merge", adjacent_id
        )

    def scale(self, target: int) -> str:
        """Return the call that changes the number of shards."""
        return self._call(
            "update-shard-count", "--target-shard-count", str(target), "--scaling-type", "UNIFORM_SCALING"
        )

    def warm_up(self, mib_s: int) -> str:
        """Return the call that scales an on-demand stream ahead of its traffic."""
        return self._call("update-stream-warm-throughput", "--warm-throughput-mibps", str(mib_s))

    def _call(self, action: str, *arguments: str) -> str:
        options = ["--stream-arn", self.arn, "--region", self.region, *arguments]
        for name, value in (("--endpoint-url", self.endpoint_url), ("--profile", self.profile)):
            options += [name, value] if value else []
        return shlex.join(["aws", "kinesis", action, *options])


_ONE_SHARD = "All records of a key go to one shard, which accepts 1,000 records/s and 1 MiB/s."


def explain(advice: Recommendation, calls: AwsCli) -> tuple[str, str | None]:
    """Return what *advice* says, and the call that carries it out if there is one."""
    match advice:
        case TooLittle(records):
            return (
                f"{show_count(records)} records were found, too few to judge the stream by. "
                "Take a longer sample (--sample 10m), or one at a busier time."
            ), None
        case Fine():
            return "Nothing needs to be done: no shard is hot, and no split or merge would help.", None
        case Split(shard_id, load, new_start, first_share):
            return (
                f"{shard_id} is hot: {load:.0%} of what a shard accepts. Split it where its traffic is halved: "
                f"{first_share:.0%} and {1 - first_share:.0%}."
            ), calls.split(shard_id, new_start)
        case SplitInTheMiddle(shard_id, load, new_start):
            return (
                f"{shard_id} is hot: {load:.0%} of what a shard accepts. Its producers choose the hash keys, which "
                "Kinesis does not return. Split it in the middle, and look again."
            ), calls.split(shard_id, new_start)
        case HotKey():
            return _explain_key(advice), None
        case LeftToKinesis(shard_id, load):
            return (
                f"{shard_id} is hot: {load:.0%} of what a shard accepts. The stream is on-demand: Kinesis splits its "
                "shards by itself, up to twice the highest traffic of the last 30 days."
            ), None
        case WarmUp():
            return _explain_warm_up(advice), None if advice.wanted is None else calls.warm_up(advice.wanted)
        case Merge(shard_id, adjacent_id, load):
            return (
                f"{shard_id} and {adjacent_id} are adjacent and use {load:.0%} of one shard together. Merge them, "
                "if they are not busier at other times."
            ), calls.merge(shard_id, adjacent_id)
        case Scale(shards, target, load):
            kind = "hot" if target > shards else "cold"
            return (
                f"All {show_count(shards)} shards are equally {kind}, with a load of {load:.0%} on average. "
                f"Change their number to {show_count(target)}. Kinesis at most doubles or halves it at once."
            ), calls.scale(target)


def _explain_warm_up(advice: WarmUp) -> str:
    warm, used = advice.warm, f"The sample uses {advice.used_mib_s:.1f} MiB/s of capacity."
    if warm is None:
        return (
            "A warm throughput prepares an on-demand stream for a peak that you expect. The stream reports none: it needs an "
            f"account with MinimumThroughputBillingCommitment, and a recent botocore to show it. {used}"
        )
    scaling = "" if warm.target == warm.current else f", and Kinesis is scaling it to {warm.target:,} MiB/s"
    scaled = f"The stream is scaled for {warm.current:,} MiB/s of writes{scaling}. {used}"
    if advice.wanted is None:
        return f"{scaled} That leaves room for twice as much, or is the most that Kinesis accepts. So the traffic is not spread over the shards."
    return f"{scaled} Before a peak that you expect, raise the warm throughput. Kinesis needs some minutes for it."


def _explain_key(advice: HotKey) -> str:
    finer = "use finer keys, such as one with a random suffix, if the order of its records allows that"
    own = (
        "Or let Kinesis choose the shards (RecordDistributionStrategy AUTO), which gives up the order of each key."
        if advice.is_on_demand
        else ""
    )
    return (
        f"{advice.shard_id} is hot: {advice.load:.0%} of what a shard accepts. The key '{show_key(advice.key)}' has "
        f"{advice.share:.0%} of its traffic. {_ONE_SHARD} No split divides a key: {finer}. {own}"
    ).rstrip()
