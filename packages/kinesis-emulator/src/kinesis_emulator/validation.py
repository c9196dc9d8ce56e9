"""
The check of a request against the service's model, before anything is looked up.

`model.json` has the members of all requests, with their types and constraints. `python -m tools.emulator_model` writes it
from botocore. A value of a wrong type is a SerializationException. All violated constraints are one ValidationException.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from kinesis_emulator.cbor import Time
from kinesis_emulator.errors import AwsError, Violation, invalid
from kinesis_emulator.wire_formats import Payload, WireFormat

Check = Callable[[Any], Sequence[Violation]]
"""Returns the constraints that a value violates; raises a SerializationException if it has a wrong type."""
Constraint = tuple[str, Callable[[Any], bool]]
"""What a value must satisfy, in AWS's words, and whether it does."""
Scalar = tuple[Callable[[Any], Any], Callable[[Any], str]]
"""How a value of a type is read, and how messages show it. They do not show payloads."""

MODEL: dict[str, Any] = json.loads(Path(__file__).with_name("model.json").read_text(encoding="utf-8"))
_UNPUBLISHED: dict[str, dict[str, Any]] = {"RetentionPeriodHours": {"min": 1}}
"""Constraints of AWS that its model does not have. Source: the tests of kinesalite, which were run against AWS."""
_MOST_VIOLATIONS = 10
"""AWS names no more."""
_NUMBER = "class com.amazon.coral.value.json.numbers.TruncatingBigNumber"
_CLASSES = {
    bool: "class java.lang.Boolean",
    str: "class java.lang.String",
    bytes: "class java.nio.ByteBuffer",
    Time: "class java.util.Date",
}
_BASE64 = re.compile(r"[A-Za-z0-9+/]*(?:[AEIMQUYcgkosw048]=|[AQgw]==)?").fullmatch
"""In a text whose length is a multiple of 4. It is faster than to decode. Before padding, superfluous bits are zero."""
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]|=(?!=?\Z)")
_MOST_INTEGER, _MOST_SECONDS = 2**31 - 1, 10**12


def check_request(action: str, params: dict[str, Any], wire_format: WireFormat = "json") -> None:
    """
    Refuse the request of *action* if *params*, which came in *wire_format*, do not fit the model. Unknown members are ignored.

    Raises:
        AwsError: A SerializationException for a value of a wrong type. A ValidationException that names up to ten
            violations: those of the stream's name last, the others in the order of the model.
    """
    shape = MODEL["operations"].get(action)
    if shape is None:
        return
    violations = _check_of(shape, wire_format)(params)
    if violations:
        of_stream = [one for one in violations if one[0] == "streamName"]
        others = [one for one in violations if one[0] != "streamName"]
        raise invalid((others + of_stream)[:_MOST_VIOLATIONS])


@cache
def _check_of(name: str, wire_format: WireFormat) -> Check:
    """Return the check of the shape *name* in requests in *wire_format*."""
    shape = {**MODEL["shapes"][name], **_UNPUBLISHED.get(name, {})}
    match shape["type"]:
        case "structure":
            return _structure(shape, wire_format)
        case "list":
            return _list(shape, wire_format)
        case "map":
            return _map(shape, wire_format)
    return _scalar(shape, _SCALARS[wire_format][shape["type"]])


def _structure(shape: dict[str, Any], wire_format: WireFormat) -> Check:
    required = shape.get("required", ())
    members = tuple(
        (name, _check_of(member, wire_format), name in required) for name, member in shape["members"].items()
    )

    def check(value: Any) -> Sequence[Violation]:
        if type(value) is not dict:
            raise _malformed(_START_OF_LIST if isinstance(value, list) else "Expected null")
        found: list[Violation] = []
        for name, check_member, is_required in members:
            given = value.get(name)
            if given is not None:
                if violations := check_member(given):
                    found += _under(name[0].lower() + name[1:], violations)
            elif is_required:
                found.append((name[0].lower() + name[1:], "null", _NOT_NULL))
        return found

    return check


def _under(path: str, violations: Sequence[Violation]) -> list[Violation]:
    """Return *violations* of the value at *path* with their paths in the whole request."""
    return [(f"{path}.{below}" if below else path, shown, text) for below, shown, text in violations]


def _list(shape: dict[str, Any], wire_format: WireFormat) -> Check:
    item = MODEL["shapes"][shape["member"]]
    has_parts, check_item = item["type"] == "structure", _check_of(shape["member"], wire_format)
    lengths, of_items = _bounds(shape, "length", len), _all_of(_constraints(item))

    def show(values: list[Any]) -> str:
        name = f"com.amazonaws.kinesis.v20131202.{shape['member']}@c965e310"  # AWS's has a hash of the value
        return _quoted(f"[{', '.join(name if has_parts else str(value) for value in values)}]")

    def check(values: Any) -> Sequence[Violation]:
        if not isinstance(values, list):
            raise _malformed(_START_OF_MAP if isinstance(values, dict) else "Expected list or null")
        wrong = [
            (i, violations)
            for i, one in enumerate(values, 1)
            if (violations := check_item(one) if one is not None else _NULL)
        ]
        found = [("", show(values), text) for text, holds in lengths if not holds(values)]
        if wrong and not has_parts:
            return [*found, ("", show(values), f"Member must satisfy constraint: {of_items}")]
        for i, violations in wrong:
            found += _under(f"{i}.member", violations)
        return found

    return check


def _map(shape: dict[str, Any], wire_format: WireFormat) -> Check:
    key, value = MODEL["shapes"][shape["key"]], MODEL["shapes"][shape["value"]]
    check_key, check_value = _check_of(shape["key"], wire_format), _check_of(shape["value"], wire_format)
    lengths, of_keys, of_values = (
        _bounds(shape, "length", len),
        _all_of(_constraints(key)),
        _all_of(_constraints(value)),
    )

    def check(values: Any) -> Sequence[Violation]:
        if not isinstance(values, dict):
            raise _malformed(_START_OF_LIST if isinstance(values, list) else "Expected map or null")
        wrong_values = [one for one in values.values() if one is None or check_value(one)]
        shown = _quoted(f"{{{', '.join(f'{name}={one}' for name, one in values.items())}}}")
        found = [("", shown, text) for text, holds in lengths if not holds(values)]
        if any(map(check_key, values)):
            found.append(("", shown, f"Map keys must satisfy constraint: {of_keys}"))
        if wrong_values:
            found.append(("", shown, f"Map value must satisfy constraint: {of_values}"))
        return found

    return check


def _scalar(shape: dict[str, Any], scalar: Scalar) -> Check:
    convert, shown_of = scalar
    constraints = [one for one in _constraints(shape) if one[1] is not _always]

    def check(value: Any) -> Sequence[Violation]:
        converted = convert(value)
        for _, holds in constraints:
            if not holds(converted):
                return [
                    ("", shown_of(converted), text) for text, holds in constraints if not holds(converted)
                ]
        return ()

    return check


def _constraints(shape: dict[str, Any]) -> list[Constraint]:
    """Return the constraints of a scalar, in AWS's order."""
    match shape["type"]:
        case "integer":
            return _bounds(shape, "value", lambda value: value)
        case "blob":
            return _bounds(shape, "length", decoded_bytes)
        case "string":
            constraints = _bounds(shape, "length", len)
            if "pattern" in shape:
                fits = re.compile(shape["pattern"], re.ASCII).fullmatch  # Java's \d and \s are those of ASCII
                text = f"Member must satisfy regular expression pattern: {shape['pattern']}"
                constraints.insert(0, (text, lambda value: fits(value) is not None))
            if "enum" in shape:
                members = shape["enum"]
                text = f"Member must satisfy enum value set: [{', '.join(members)}]"
                constraints.append((text, lambda value: value in members))
            return constraints
    return []


def _bounds(shape: dict[str, Any], of: str, measure: Callable[[Any], int]) -> list[Constraint]:
    """Return the constraints `min` and `max`. A lower bound of zero holds for all lengths."""
    low, high = shape.get("min"), shape.get("max")
    found: list[Constraint] = []
    if high is not None:
        found.append(
            (f"Member must have {of} less than or equal to {high}", lambda value: measure(value) <= high)
        )
    if low is not None:
        holds = _always if low == 0 and of == "length" else lambda value: measure(value) >= low
        found.append((f"Member must have {of} greater than or equal to {low}", holds))
    return found


def _always(_: Any) -> bool:
    return True


def _all_of(constraints: Sequence[Constraint]) -> str:
    return f"[{', '.join(text for text, _ in constraints)}]"


def decoded_bytes(payload: Payload) -> int:
    """Return the size of a payload whose base64 is valid."""
    if isinstance(payload, bytes):
        return len(payload)
    return len(payload) // 4 * 3 - payload.count("=", -2)


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise _unconvertible(value, "an String")


def _blob(value: Any) -> str:
    if type(value) is not str:
        raise _unconvertible(value, "a Blob")
    if len(value) % 4 or not _BASE64(value):
        raise _malformed(f"'{value}' can not be converted to a Blob: {_why_no_base64(value)}")
    return value


def _binary(value: Any) -> bytes:
    if type(value) is bytes:
        return value
    raise _unconvertible(value, "a Blob")


def _why_no_base64(text: str) -> str:
    if len(text) % 4:
        return f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}"
    wrong = _NOT_BASE64.search(text)
    if wrong:
        return f"Invalid Base64 character: '{wrong[0]}'"
    return "Invalid last non-pad Base64 character dectected"


def _integer(value: Any) -> int:
    if type(value) is not int and (type(value) is not float or not isfinite(value)):
        raise _unconvertible(value, "an Integer")
    return to_integer(value)


def to_integer(value: float) -> int:
    """Return a number of JSON as AWS reads it: without a fraction, and within 32 bits."""
    return max(-_MOST_INTEGER - 1, min(int(value), _MOST_INTEGER))


def _boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str:
        raise _malformed(f"'{value.upper()}' can not be converted to an Boolean")
    raise _unconvertible(value, "an Boolean")


def _timestamp(value: Any) -> float:
    if type(value) in (int, float) and -_MOST_SECONDS <= value <= _MOST_SECONDS:
        return float(value)
    raise _unconvertible(value, "milliseconds since epoch")


def _tagged_time(value: Any) -> Time:
    if type(value) is Time and abs(value.epoch_ms) <= _MOST_SECONDS * 1000:
        return value
    raise _unconvertible(value, "milliseconds since epoch")


def _quoted(value: object) -> str:
    return f"'{value}'"


_IN_JSON: dict[str, Scalar] = {
    "string": (_text, _quoted),
    "blob": (_blob, lambda _: ""),
    "integer": (_integer, _quoted),
    "boolean": (_boolean, _quoted),
    "timestamp": (_timestamp, _quoted),
}
_SCALARS: dict[WireFormat, dict[str, Scalar]] = {
    "json": _IN_JSON,
    "cbor": {**_IN_JSON, "blob": (_binary, lambda _: ""), "timestamp": (_tagged_time, _quoted)},
}

_START_OF_LIST = "Start of list found where not expected"
_START_OF_MAP = "Start of structure or map found where not expected."
_NOT_NULL = "Member must not be null"
_NULL: Sequence[Violation] = (("", "null", _NOT_NULL),)


def _malformed(message: str) -> AwsError:
    return AwsError("SerializationException", message)


def _unconvertible(value: Any, wanted: str) -> AwsError:
    """Return the error for a value that has another type than *wanted*. The names of CBOR's types are a guess."""
    if isinstance(value, list):
        return _malformed(_START_OF_LIST)
    if isinstance(value, dict):
        return _malformed(_START_OF_MAP)
    return _malformed(f"{_CLASSES.get(type(value), _NUMBER)} can not be converted to {wanted}")
