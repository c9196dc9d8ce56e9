"""Items of a table in DynamoDB as plain values: text, numbers, bytes, sets of text, lists and maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Value = str | int | float | bytes | frozenset[str] | list[Any] | dict[str, Any]
Item = dict[str, Value]
"""The attributes of an item by name. A list and a map hold values of the same kinds."""


def to_dynamodb(value: Value) -> dict[str, Any]:
    """Return *value* in DynamoDB's JSON."""
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": repr(value)}
        case bytes():
            return {"B": value}
        case frozenset():
            return {"SS": sorted(value)}
        case list():
            return {"L": [to_dynamodb(each) for each in value]}
        case dict():
            return {"M": {name: to_dynamodb(each) for name, each in value.items()}}


def from_dynamodb(typed: Mapping[str, Any]) -> Any:
    """
    Return the value that *typed*, DynamoDB's JSON, holds. A kind that no lease table has is returned as it is.

    Raises:
        ValueError, TypeError: It is malformed.
    """
    [(kind, value)] = typed.items()
    match kind:
        case "N":
            return int(value) if value.lstrip("-").isdigit() else float(value)
        case "SS":
            return frozenset(value)
        case "L":
            return [from_dynamodb(each) for each in value]
        case "M":
            return {name: from_dynamodb(each) for name, each in value.items()}
        case _:
            return value


def item_to_dynamodb(item: Mapping[str, Value]) -> dict[str, Any]:
    """Return all attributes of *item* in DynamoDB's JSON."""
    return {name: to_dynamodb(value) for name, value in item.items()}


def item_from_dynamodb(item: Mapping[str, Mapping[str, Any]]) -> Item:
    """
    Return the attributes of *item*, DynamoDB's JSON, as plain values.

    Raises:
        ValueError, TypeError: It is malformed.
    """
    return {name: from_dynamodb(typed) for name, typed in item.items()}
