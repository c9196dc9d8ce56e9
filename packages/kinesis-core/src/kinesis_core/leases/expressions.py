"""Conditions and changes of one item as the expressions of DynamoDB. Names and values are placeholders, so both may be anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

from kinesis_core.leases.attributes import Value, to_dynamodb

Expected = Mapping[str, Value | None]


def condition_request(expect: Expected) -> dict[str, Any]:
    """Return the parameters of a call that is made only if attributes have these values; None: if they are absent."""
    placeholders = _Placeholders()
    return placeholders.request(ConditionExpression=_condition(placeholders, expect))


def update_request(
    expect: Expected,
    set: Mapping[str, Value],
    remove: Iterable[str] = (),
    add: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the parameters of UpdateItem for a change that is made only if attributes are as expected."""
    placeholders = _Placeholders()
    name, value = placeholders.name, placeholders.value
    clauses = {
        "SET": [f"{name(key)} = {value(new)}" for key, new in set.items()],
        "REMOVE": [name(key) for key in remove],
        "ADD": [f"{name(key)} {value(number)}" for key, number in (add or {}).items()],
    }
    return placeholders.request(
        UpdateExpression=" ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts),
        ConditionExpression=_condition(placeholders, expect),
    )


def _condition(placeholders: _Placeholders, expect: Expected) -> str:
    return " AND ".join(
        f"attribute_not_exists({placeholders.name(key)})"
        if value is None
        else f"{placeholders.name(key)} = {placeholders.value(value)}"
        for key, value in expect.items()
    )


@define
class _Placeholders:
    """Those of one call."""

    _names: dict[str, str] = field(factory=dict, init=False)
    _values: dict[str, Any] = field(factory=dict, init=False)

    def name(self, attribute: str) -> str:
        return self._names.setdefault(attribute, f"#n{len(self._names)}")

    def value(self, value: Value) -> str:
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = to_dynamodb(value)
        return placeholder

    def request(self, **expressions: str) -> dict[str, Any]:
        """Return *expressions* with all that they use. DynamoDB refuses empty parameters."""
        names = {placeholder: attribute for attribute, placeholder in self._names.items()}
        request = {
            **expressions,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": self._values,
        }
        return {key: value for key, value in request.items() if value}
