"""The calls of the AWS CLI that carry out an advice. They are printed, never made."""

from __future__ import annotations

import shlex

from attrs import frozen


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

    def _call(self, action: str, *arguments: str) -> str:
        options = ["--stream-arn", self.arn, "--region", self.region, *arguments]
        for name, value in (("--endpoint-url", self.endpoint_url), ("--profile", self.profile)):
            options += [name, value] if value else []
        return shlex.join(["aws", "kinesis", action, *options])
