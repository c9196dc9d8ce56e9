"""
Stands before each call of a client: only calls on what the run has made are sent, and each is in the ledger before.

The guard knows names only. A name has the random id of the run in it, so nobody else has given it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from tools.aws.ledger import Ledger, Resource
from tools.aws.prices import put_units

KINESIS_CALLS = frozenset(
    {
        *("CreateStream", "DeleteStream", "DescribeStream", "DescribeStreamSummary", "ListShards"),
        *("DecreaseStreamRetentionPeriod", "IncreaseStreamRetentionPeriod", "ListTagsForStream"),
        *("GetRecords", "GetShardIterator", "PutRecord", "PutRecords", "SubscribeToShard"),
        *("RegisterStreamConsumer", "DeregisterStreamConsumer", "DescribeStreamConsumer"),
        *("ListStreamConsumers", "ListTagsForResource", "MergeShards", "SplitShard", "UpdateShardCount"),
        *("UpdateMaxRecordSize", "UpdateStreamRecordDistributionStrategy"),
    }
)
TABLE_CALLS = frozenset(
    {"CreateTable", "DeleteTable", "DescribeTable", "ListTagsOfResource", "Scan", "PutItem", "GetItem"}
)
NAMELESS = frozenset({"ListStreams", "ListTables"})
"""They change nothing and name no resource."""
CONTINUED = frozenset({"GetRecords", "ListShards"})
"""They may name a resource by what an earlier call returned: an iterator, a token."""
SHARDS_OF_A_CONSUMER = 2
"""No stream with a consumer has more."""


class StrangerError(Exception):
    """A call was not sent, because it names something that this run has not made."""


@frozen
class Guard:
    """Guards the clients that it is given."""

    ledger: Ledger

    def stand_before(self, client: Any) -> Any:
        """Return *client*, guarded."""
        service = client.meta.service_model.service_name
        client.meta.events.register_first(f"provide-client-params.{service}.*", self.check)
        return client

    def check(self, params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
        """
        Return the parameters of a call to send. Note what it creates and uses.

        Raises:
            StrangerError: It names what is not ours, or nothing, or it is a call that the run has no use for.
            BudgetError: It would cost too much.
        """
        call = model.name
        self._check_names(call, params)
        usage = usage_of(call, params)
        if usage:
            self.ledger.use(usage)
        if call == "CreateStream":
            self.ledger.creating(Resource("stream", params["StreamName"]))
        if call in {"CreateStream", "RegisterStreamConsumer"}:
            return {**params, "Tags": self.ledger.run.tags}
        if call == "CreateTable":
            self.ledger.creating(Resource("table", params["TableName"]))
            tags = [{"Key": key, "Value": value} for key, value in self.ledger.run.tags.items()]
            return {**params, "Tags": tags}
        return params

    def _check_names(self, call: str, params: Mapping[str, Any]) -> None:
        if call in NAMELESS:
            return
        names = [*_names(params)]
        is_known = call in KINESIS_CALLS | TABLE_CALLS and (names or call in CONTINUED)
        run = self.ledger.run
        if not is_known or not all(run.owns(name) for name in names):
            raise StrangerError(f"{call} of {', '.join(names) or 'no name'} is not sent: {run.prefix}...")


def _names(params: Mapping[str, Any]) -> list[str]:
    """Return the names of all streams and tables that a call names."""
    plain = (params[name] for name in ("StreamName", "TableName") if params.get(name))
    arns = (
        params[name]
        for name in ("StreamARN", "ConsumerARN", "ResourceARN", "ResourceArn")
        if params.get(name)
    )
    return [*plain, *(arn.partition("/")[2].partition("/")[0] for arn in arns)]


def usage_of(call: str, params: Mapping[str, Any]) -> dict[str, float]:
    """Return what a call uses at most. A shard counts as a whole hour."""
    match call:
        case "CreateStream" if "StreamModeDetails" in params:
            is_on_demand = params["StreamModeDetails"]["StreamMode"] == "ON_DEMAND"
            return {"on_demand_hours": 1} if is_on_demand else {"shard_hours": params["ShardCount"]}
        case "CreateStream":
            return {"shard_hours": params.get("ShardCount", 4)}
        case "SplitShard":
            return {"shard_hours": 2}
        case "MergeShards":
            return {"shard_hours": 1}
        case "UpdateShardCount":
            return {"shard_hours": 2 * params["TargetShardCount"]}  # some are opened and closed on the way
        case "RegisterStreamConsumer":
            return {"fan_out_shard_hours": SHARDS_OF_A_CONSUMER}
        case "PutRecord":
            return {"put_units": put_units(len(params["Data"]))}
        case "PutRecords":
            return {"put_units": sum(put_units(len(record["Data"])) for record in params["Records"])}
    return {}
