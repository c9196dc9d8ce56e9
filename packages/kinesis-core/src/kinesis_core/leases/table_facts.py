"""Tables as DynamoDB describes them, and the requests that make their keys and the index of the KCL."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from attrs import field, frozen

from kinesis_core.aws import read_text
from kinesis_core.leases.lease import LEASE_OWNER

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


def read_table(facts: Mapping[str, Any], key_name: str) -> TableFacts:
    """Return the facts of a response to DescribeTable."""
    schema = facts["KeySchema"]
    wanted = key_request(key_name)
    is_text = wanted["AttributeDefinitions"][0] in facts["AttributeDefinitions"]
    mode = facts.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    capacity = facts.get("ProvisionedThroughput", {})
    units = {unit: capacity.get(unit, 1) for unit in ("ReadCapacityUnits", "WriteCapacityUnits")}
    return TableFacts(
        read_text(facts, "TableStatus"),
        tuple(read_text(key, "AttributeName") for key in schema),
        schema == wanted["KeySchema"] and is_text,
        {
            read_text(index, "IndexName"): read_text(index, "IndexStatus")
            for index in facts.get("GlobalSecondaryIndexes", ())
        },
        units if mode == "PROVISIONED" else None,
    )


def key_request(key_name: str) -> dict[str, Any]:
    """Return the parameters of a table with this key."""
    return {
        "KeySchema": [{"AttributeName": key_name, "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": key_name, "AttributeType": "S"}],
    }


def new_index_request(key_name: str) -> dict[str, Any]:
    """Return the parameters of a new table with this key and the index."""
    return {
        "KeySchema": key_request(key_name)["KeySchema"],
        "AttributeDefinitions": _index_attributes(key_name),
        "GlobalSecondaryIndexes": [_index(key_name)],
    }


def index_request(key_name: str, table: TableFacts) -> dict[str, Any]:
    """Return the parameters that add the index to *table*. It is billed as the table is."""
    capacity = {} if table.throughput is None else {"ProvisionedThroughput": dict(table.throughput)}
    return {
        "AttributeDefinitions": _index_attributes(key_name),
        "GlobalSecondaryIndexUpdates": [{"Create": {**_index(key_name), **capacity}}],
    }


def _index_attributes(key_name: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in (key_name, LEASE_OWNER)]


def _index(key_name: str) -> dict[str, Any]:
    return {
        "IndexName": OWNER_INDEX,
        "KeySchema": [
            {"AttributeName": LEASE_OWNER, "KeyType": "HASH"},
            {"AttributeName": key_name, "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
