"""The calls of the AWS CLI that carry out an advice. They are printed, never made."""

from __future__ import annotations

import shlex

from attrs import frozen


@frozen
class AwsCli:
    """Prints calls on one stream, with the options by which the user reached it."""

    stream: str
    """A name or an ARN."""
    region: str | None = None
    endpoint_url: str | None = None
    profile: str | None = None

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
        stream = "--stream-arn" if self.stream.startswith("arn:") else "--stream-name"
        options = [stream, self.stream, *arguments]
        for name, value in (
            ("--region", self.region),
            ("--endpoint-url", self.endpoint_url),
            ("--profile", self.profile),
        ):
            options += [name, value] if value else []
        return shlex.join(["aws", "kinesis", action, *options])
