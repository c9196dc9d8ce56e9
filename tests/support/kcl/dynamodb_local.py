"""DynamoDB Local: AWS's own DynamoDB for tests, which has what moto lacks for leases, such as indexes of new tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import botocore.session
from attrs import define, field

from support.java_programs import TABLES
from support.kcl.event_process import EventProcess
from support.kcl.java_process import start_java
from support.streams import KEY_ID, REGION, SECRET

Item = dict[str, Any]


@define(eq=False)
class DynamoDbLocal:
    """A server on 127.0.0.1 that keeps its tables in memory. A context manager."""

    process: EventProcess
    endpoint_url: str
    client: Any = field(init=False)

    @classmethod
    def start(cls, log: Path) -> DynamoDbLocal:
        """
        Start a server.

        Raises:
            WitnessUnavailableError: It cannot be installed here.
        """
        installed = TABLES.install()
        properties = (f"sqlite4java.library.path={installed.libraries}",)
        process = start_java(installed, "LocalTables", (), log, properties)
        try:
            port = process.wait_for("listening")["port"]
        except BaseException:
            process.kill()
            raise
        return cls(process, f"http://127.0.0.1:{port}")

    def __attrs_post_init__(self) -> None:
        self.client = botocore.session.get_session().create_client(
            "dynamodb",
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
        )

    def __enter__(self) -> DynamoDbLocal:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.process.kill()

    def create_lease_table(self, name: str, *, with_index: bool = True) -> None:
        """
        Create a lease table as KCL 3 does; without the index as KCL 2 does.

        KCL 3 waits for 10 s when it creates the index itself.
        """
        owner = [{"AttributeName": "leaseOwner", "AttributeType": "S"}] if with_index else []
        index = {
            "IndexName": "LeaseOwnerToLeaseKeyIndex",
            "KeySchema": [
                {"AttributeName": "leaseOwner", "KeyType": "HASH"},
                {"AttributeName": "leaseKey", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        self.client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}, *owner],
            BillingMode="PAY_PER_REQUEST",
            **({"GlobalSecondaryIndexes": [index]} if with_index else {}),
        )

    def items(self, table: str) -> dict[str, Item]:
        """Return all items of a lease table by their key, with plain values: str, int or float, bytes, set, dict, list."""
        pages = self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        items = [plain(item) for page in pages for item in page["Items"]]
        return {item["leaseKey"]: item for item in items}

    def leases(self, table: str) -> dict[str, Item]:
        """Return the items that are leases: those without `entityType` as well."""
        items = self.items(table)
        return {key: item for key, item in items.items() if item.get("entityType", "LEASE") == "LEASE"}


def plain(item: Item) -> Item:
    """Return an item of DynamoDB with plain values."""
    return {name: _plain(value) for name, value in item.items()}


def _plain(typed: dict[str, Any]) -> Any:
    [(kind, value)] = typed.items()
    match kind:
        case "N":
            return float(value) if "." in value else int(value)
        case "L":
            return [_plain(each) for each in value]
        case "M":
            return plain(value)
        case "SS" | "NS" | "BS":
            return set(value)
        case "NULL":
            return None
        case _:
            return value
