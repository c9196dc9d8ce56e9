"""A table in DynamoDB, with the layout of Java's KCL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kinesis_consumer.stores.table import Update
from kinesis_core.aws import Connection
from kinesis_core.clock import Clock
from kinesis_core.errors import InvalidRequestError, ServiceError, TableNotFoundError, UnavailableError
from kinesis_core.leases import (
    LEASE_KEY,
    LEASE_OWNER,
    OWNER_INDEX,
    Item,
    OwnerIndex,
    TableClient,
    Value,
    condition_request,
    item_from_dynamodb,
    item_to_dynamodb,
    open_table,
    to_dynamodb,
    update_request,
)

PATIENCE_S = 900.0
"""How long to wait for a table and its index. DynamoDB takes seconds for a table, and minutes to add an index to one."""


@frozen
class DynamoTable:
    """
    A table in DynamoDB. Reads of items are consistent. Each call is made once, except those of `prepare`.

    *owner_index* says which tables get the KCL's index by owner. `keys_of_owner` needs it, and raises an `InvalidRequestError`
    where it is missing.
    """

    client: TableClient
    owner_index: OwnerIndex = OwnerIndex.OF_NEW_TABLES

    @classmethod
    def open(
        cls,
        connection: Connection,
        name: str,
        endpoint_url: str | None = None,
        *,
        with_index: bool = False,
        clock: Clock | None = None,
    ) -> DynamoTable:
        """
        Return the table *name* in the region of *connection*. Makes no call.

        A new table gets the index, and with *with_index* an existing one too.

        Raises:
            CredentialsError: There are no credentials.
        """
        client = open_table(connection, name, endpoint_url, clock)
        return cls(client, OwnerIndex.OF_ALL_TABLES if with_index else OwnerIndex.OF_NEW_TABLES)

    @property
    def name(self) -> str:
        return self.client.name

    def prepare(self) -> None:
        self.client.prepare(PATIENCE_S, self.owner_index)

    def scan(self) -> list[Item]:
        return list(self.client.pages("Scan", self._boto.scan, item_from_dynamodb, ConsistentRead=True))

    def get(self, key: str) -> Item | None:
        return self.client.call(
            "GetItem",
            lambda: _read(self._boto.get_item(**self._address(key), ConsistentRead=True).get("Item")),
            item=key,
        )

    def keys_of_owner(self, owner: str) -> list[str]:
        request: dict[str, Any] = {
            "IndexName": OWNER_INDEX,
            "KeyConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": LEASE_OWNER},
            "ExpressionAttributeValues": {":owner": to_dynamodb(owner)},
        }
        try:
            return list(
                self.client.pages(
                    "Query", self._boto.query, lambda item: str(item[LEASE_KEY]["S"]), **request
                )
            )
        except (InvalidRequestError, TableNotFoundError) as error:
            raise self._explain(error) from error

    def create(self, key: str, item: Item) -> bool:
        request = {
            "TableName": self.name,
            "Item": item_to_dynamodb({**item, LEASE_KEY: key}),
            **condition_request({LEASE_KEY: None}),
        }
        written = self.client.call_if_met("PutItem", lambda: self._boto.put_item(**request), item=key)
        return written is not None

    def update(self, update: Update) -> Item | None:
        request = {
            **self._address(update.key),
            **update_request(update.expect, update.set, update.remove, update.add),
            "ReturnValues": "ALL_NEW",
        }
        return self.client.call_if_met(
            "UpdateItem",
            lambda: item_from_dynamodb(self._boto.update_item(**request)["Attributes"]),
            item=update.key,
        )

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        request = {**self._address(key), **condition_request(expect)}
        deleted = self.client.call_if_met("DeleteItem", lambda: self._boto.delete_item(**request), item=key)
        return deleted is not None

    def close(self) -> None:
        self._boto.close()

    def _explain(self, error: ServiceError) -> ServiceError:
        """Return what an error of a query means: the index is missing, or DynamoDB has not made it yet."""
        if "backfilling" in str(error):
            return UnavailableError(error.what, error.code, error.request_id, error.advice, **error.where)
        if "index" not in str(error):
            return error
        return InvalidRequestError(
            f"Table {self.name} lacks the index {OWNER_INDEX}, as tables of KCL 1.x and 2.x do. Open this worker with "
            "leases=DynamoLeases(add_index=True), which adds it within minutes, as a KCL 3.x does. "
            f"(DynamoDB: {error.code}, request id {error.request_id or 'none'})",
            error.code,
            error.request_id,
            table=self.name,
        )

    @property
    def _boto(self) -> Any:
        return self.client.client

    def _address(self, key: str) -> dict[str, Any]:
        return {"TableName": self.name, "Key": {LEASE_KEY: {"S": key}}}


def _read(item: Any) -> Item | None:
    return None if item is None else item_from_dynamodb(item)
