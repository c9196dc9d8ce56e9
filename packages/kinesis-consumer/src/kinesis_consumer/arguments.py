"""The arguments of `ConsumerGroup.open`: what they accept."""

from __future__ import annotations

import re
from types import UnionType

from kinesis_core import OptionError, WireFormat
from kinesis_core.aws import verify_endpoint
from kinesis_credentials import CredentialSpec
from kinesis_credentials.base import shorten

_TABLE = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_KEY_OF_ANOTHER_ITEM = re.compile(r"|Leader|Migration3\.0|(.*:)?shardId-.*|.{256,}", re.DOTALL)
"""Keys that a worker's report cannot have: keys of leases and of the other items of the table, and long ones."""


def refused(argument: str, domain: str, value: object, hint: str = "") -> OptionError:
    """Return the error of an argument that does not accept *value*. *hint* says why."""
    return OptionError(
        " ".join(filter(None, (f"'{argument}' is {shorten(repr(value))}.", hint, f"Use {domain}.")))
    )


def verify_kind(argument: str, domain: str, value: object, kinds: type | UnionType) -> None:
    """
    Verify that *value* is one of *kinds*, or None.

    Raises:
        OptionError: It is not.
    """
    if value is not None and not isinstance(value, kinds):
        raise refused(argument, domain, value)


def verify_table_name(argument: str, name: str) -> None:
    """
    Verify that DynamoDB accepts the name of a table.

    Raises:
        OptionError: It does not.
    """
    if not isinstance(name, str) or not _TABLE.fullmatch(name):
        raise refused(argument, "3 to 255 of the characters a-z, A-Z, 0-9, '_', '-' and '.'", name)


def verify_worker(worker: str | None) -> None:
    """
    Verify that a worker may have this name, if it is given. Its report is an item of the table with this key.

    Raises:
        OptionError: It may not.
    """
    if worker is not None and (not isinstance(worker, str) or _KEY_OF_ANOTHER_ITEM.fullmatch(worker)):
        domain = "a name of 1 to 255 characters, but no shard id, and not 'Leader' or 'Migration3.0', which are items of the table"
        raise refused("worker", domain, worker)


def verify_connection(region: object, endpoint_url: object, credentials: object, wire_format: object) -> None:
    """
    Verify how a stream is to be reached. Makes no call.

    Raises:
        OptionError: An argument is of another type, or the endpoint is no URL. What was given as credentials is not shown.
    """
    verify_kind("region", "the name of a region, such as eu-west-1", region, str)
    verify_endpoint(endpoint_url)
    if not isinstance(credentials, CredentialSpec | None):
        raise OptionError(
            f"'credentials' is of type {type(credentials).__name__}. Use a value of kinesis_credentials, such as StaticKeys(...) or "
            "Profile(...)."
        )
    if not isinstance(wire_format, WireFormat):
        raise refused("wire_format", "WireFormat.JSON or WireFormat.CBOR", wire_format)
