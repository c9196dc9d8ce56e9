"""Tables as DynamoDB describes them, and the requests that make their keys and the index of the KCL."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from attrs import field, frozen

from kinesis_core.aws import read_text
from kinesis_core.leases.lease import LEASE_KEY, LEASE_OWNER

OWNER_INDEX = "LeaseOwnerToLeaseKeyIndex"
"""The index in which a worker of the KCL 3 finds the leases that are assigned to it."""


class OwnerIndex(Enum):
    """Which tables get the index by owner."""

    NONE = "none"
    OF_NEW_TABLES = "new tables"
    OF_ALL_TABLES = "all tables"


@frozen
class TableFacts:
    """The facts of a table that DynamoDB reports."""

    status: str
    keys: tuple[str, ...]
    has_key: bool
    """Whether its key is the wanted one, of text."""
    indexes: Mapping[str, str] = field(factory=dict)
    """The status of each index."""
    throughput: Mapping[str, int] | None = None
    """Its capacity in units; None if it is billed by request."""

    @property
    def has_active_index(self) -> bool:
        return self.indexes.get(OWNER_INDEX) in {"ACTIVE", "UPDATING"}


def read_table(facts: Mapping[str, Any]) -> TableFacts:
    """Return the facts of a response to DescribeTable."""
    schema = facts["KeySchema"]
    is_text = _attribute(LEASE_KEY) in facts["AttributeDefinitions"]
    mode = facts.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    capacity = facts.get("ProvisionedThroughput", {})
    units = {unit: capacity.get(unit, 1) for unit in ("ReadCapacityUnits", "WriteCapacityUnits")}
    return TableFacts(
        read_text(facts, "TableStatus"),
        tuple(read_text(key, "AttributeName") for key in schema),
        schema == KEY_REQUEST["KeySchema"] and is_text,
        {
            read_text(index, "IndexName"): read_text(index, "IndexStatus")
            for index in facts.get("GlobalSecondaryIndexes", ())
        },
        units if mode == "PROVISIONED" else None,
    )


def _attribute(name: str) -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": "S"}


def _keys(**kinds: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in kinds.items()]


KEY_REQUEST = {"KeySchema": _keys(leaseKey="HASH"), "AttributeDefinitions": [_attribute(LEASE_KEY)]}
"""The parameters of a new table."""
_INDEX = {
    "IndexName": OWNER_INDEX,
    "KeySchema": _keys(leaseOwner="HASH", leaseKey="RANGE"),
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
_INDEX_ATTRIBUTES = [_attribute(LEASE_KEY), _attribute(LEASE_OWNER)]
NEW_INDEX_REQUEST = {
    **KEY_REQUEST,
    "AttributeDefinitions": _INDEX_ATTRIBUTES,
    "GlobalSecondaryIndexes": [_INDEX],
}
"""The parameters of a new table with the index."""


def index_request(table: TableFacts) -> dict[str, Any]:
    """Return the parameters that add the index to *table*. It is billed as the table is."""
    capacity = {} if table.throughput is None else {"ProvisionedThroughput": dict(table.throughput)}
    return {
        "AttributeDefinitions": _INDEX_ATTRIBUTES,
        "GlobalSecondaryIndexUpdates": [{"Create": {**_INDEX, **capacity}}],
    }
