"""The client of one lease table in DynamoDB. The table is created if it is missing, written to, and never read."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import define, field, frozen

from kinesis_core.aws import (
    CALL_ERRORS,
    MALFORMED,
    Connection,
    RetryBudget,
    RetryPolicy,
    Throttles,
    call_with_retries,
    make_client,
    malformed,
    read_text,
    translate,
)
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.errors import ServiceError, TableLayoutError, TableNotFoundError, UnavailableError
from kinesis_core.leases.lease import LEASE_KEY, LEASE_OWNER, Lease
from kinesis_core.logs import get_logger

READ_TIMEOUT_S = 5.0
"""DynamoDB responds within milliseconds, and a query waits meanwhile."""
CREATION_S = 60.0
"""DynamoDB creates a table in about ten seconds."""
_POLL_S = 1.0
_KEY_SCHEMA = [{"AttributeName": LEASE_KEY, "KeyType": "HASH"}]
_KEY_TYPE = {"AttributeName": LEASE_KEY, "AttributeType": "S"}

log = get_logger("kinesis_core")
T = TypeVar("T")


@frozen
class _Table:
    """The facts of a table that DynamoDB reports."""

    status: str
    keys: tuple[str, ...] = ()
    is_of_leases: bool = True


_NEW = _Table("CREATING")


@define
class LeaseTable:
    """One table, with a botocore client. Thread-safe."""

    name: str
    client: Any
    policy: RetryPolicy
    clock: Clock
    rng: random.Random
    _budget: RetryBudget = field(factory=RetryBudget, init=False)

    def prepare(self, patience_s: float = CREATION_S) -> None:
        """
        Check that the table exists and is a lease table. Create it, billed by request, if it is missing.

        Raises:
            TableLayoutError: The table has another key.
            ServiceError: DynamoDB refuses, or the table does not become active within *patience_s*.
        """
        try:
            table = self._describe()
        except TableNotFoundError:
            self._create()
            table = _NEW
        deadline_s = self.clock.now_s() + patience_s
        while table.status == _NEW.status:
            if self.clock.now_s() >= deadline_s:
                raise UnavailableError(
                    f"DynamoDB is still creating table {self.name}. Progress is published to it later. [table={self.name}]",
                    code="CREATING",
                )
            self.clock.sleep(_POLL_S)
            table = self._describe_new()
        self._check_key(table)

    def write(self, lease: Lease) -> bool:
        """
        Write *lease*, and increment its counter. Returns whether it was written.

        A lease that another consumer owns is left alone: its checkpoint belongs to that consumer.

        Raises:
            ServiceError: DynamoDB refuses. The call is not retried here.
        """
        attributes = lease.attributes()
        settings = ", ".join(f"#{name} = :{name}" for name in attributes)
        try:
            self._call(
                "UpdateItem",
                lambda: self.client.update_item(
                    TableName=self.name,
                    Key={LEASE_KEY: {"S": lease.key}},
                    UpdateExpression=f"SET {settings} ADD leaseCounter :one",
                    ConditionExpression=f"attribute_not_exists({LEASE_OWNER})",
                    ExpressionAttributeNames={f"#{name}": name for name in attributes},
                    ExpressionAttributeValues={
                        **{f":{name}": value for name, value in attributes.items()},
                        ":one": {"N": "1"},
                    },
                ),
                f"lease={lease.key}",
            )
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def _describe(self) -> _Table:
        return self._call_with_retries(
            "DescribeTable", lambda: _table(self.client.describe_table(TableName=self.name)["Table"])
        )

    def _describe_new(self) -> _Table:
        """Return the facts of a table that may be so new that not all servers of DynamoDB know it yet."""
        try:
            return self._describe()
        except TableNotFoundError:
            return _NEW

    def _create(self) -> None:
        try:
            self._call_with_retries(
                "CreateTable",
                lambda: self.client.create_table(
                    TableName=self.name,
                    KeySchema=_KEY_SCHEMA,
                    AttributeDefinitions=[_KEY_TYPE],
                    BillingMode="PAY_PER_REQUEST",
                ),
            )
        except ServiceError as error:
            if error.code != "ResourceInUseException":  # another query has created it
                raise
        else:
            log.info("table.created", table=self.name)

    def _check_key(self, table: _Table) -> None:
        if not table.is_of_leases:
            raise TableLayoutError(
                f"Option 'dynamodbTableName' names a table with the key {', '.join(table.keys)}; the key of a lease table is "
                f"{LEASE_KEY}, a string. Name another table: a missing one is created. [table={self.name}]",
                table.keys,
            )

    def _call_with_retries(self, operation: str, call: Callable[[], T]) -> T:
        return call_with_retries(
            operation,
            lambda: self._call(operation, call),
            self.policy,
            self.clock,
            self.rng,
            self._budget,
            throttles=Throttles.COUNTED,  # a query waits meanwhile, and needs no leases
            table=self.name,
        )

    def _call(self, operation: str, call: Callable[[], T], where: str = "") -> T:
        try:
            return call()
        except CALL_ERRORS as error:
            raise translate(operation, f"table={self.name} {where}".rstrip(), error, "DynamoDB") from error
        except MALFORMED as error:
            raise malformed(operation, f"table={self.name} {where}".rstrip(), error, "DynamoDB") from error


def _table(facts: Mapping[str, Any]) -> _Table:
    schema = facts["KeySchema"]
    is_of_leases = schema == _KEY_SCHEMA and _KEY_TYPE in facts["AttributeDefinitions"]
    keys = tuple(read_text(key, "AttributeName") for key in schema)
    return _Table(read_text(facts, "TableStatus"), keys, is_of_leases)


def open_table(
    connection: Connection, name: str, endpoint_url: str | None = None, clock: Clock | None = None
) -> LeaseTable:
    """
    Return a client of table *name* in the region of *connection*, with its credentials. Makes no call.

    Raises:
        CredentialsError: There are no credentials.
    """
    client = make_client(connection, "dynamodb", endpoint_url, READ_TIMEOUT_S)
    rng = random.Random()  # noqa: S311 # jitter, not a secret
    return LeaseTable(name, client, connection.retry, clock or SystemClock(), rng)
