"""Requests that are generated from the emulator's model of the service."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from typing import Any

from hypothesis import given, strategies as st

from kinesis_emulator import AwsError, Emulator, Limits, Request, Settings
from kinesis_emulator.validation import MODEL, check_request

ACTIONS = st.sampled_from(sorted(MODEL["operations"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def valid(name: str) -> st.SearchStrategy[Any]:
    """Return values that fit the shape *name*."""
    shape = MODEL["shapes"][name]
    low, high = shape.get("min", 0), shape.get("max")
    match shape["type"]:
        case "structure":
            required = {
                n: valid(member) for n, member in shape["members"].items() if n in shape.get("required", ())
            }
            rest = {n: valid(member) for n, member in shape["members"].items() if n not in required}
            return st.fixed_dictionaries(required, optional=rest)
        case "list":
            return st.lists(valid(shape["member"]), min_size=low, max_size=min(high or 3, 3))
        case "map":
            return st.dictionaries(valid(shape["key"]), valid(shape["value"]), min_size=low, max_size=3)
        case "integer":
            return st.integers(max(low, 1), high or 2**31 - 1)
        case "blob":
            return st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode())
        case "timestamp":
            return st.integers(0, 2**31) | st.floats(0, 2**31)
        case "boolean":
            return st.booleans()
    if "enum" in shape:
        return st.sampled_from(shape["enum"])
    if "pattern" in shape:
        pattern = re.compile(shape["pattern"], re.ASCII)
        return st.from_regex(pattern, fullmatch=True).filter(
            lambda text: low <= len(text) <= (high or len(text))
        )
    return st.text(min_size=low, max_size=min(high or 20, 20))


def nearly_valid(name: str) -> st.SearchStrategy[Any]:
    """Return structures with values that fit or do not, and with members that nobody knows."""
    members = MODEL["shapes"][name]["members"]
    return st.fixed_dictionaries(
        {}, optional={n: ANYTHING | valid(shape) for n, shape in members.items()} | {"X": ANYTHING}
    )


def shape_of(action: str) -> str:
    return str(MODEL["operations"][action])


@given(ACTIONS.flatmap(lambda action: st.tuples(st.just(action), valid(shape_of(action)))))
def test_a_request_that_fits_the_model_is_accepted(call: tuple[str, dict[str, Any]]) -> None:
    """The check refuses nothing that the model allows."""
    check_request(*call)


@given(ACTIONS.flatmap(lambda action: st.tuples(st.just(action), nearly_valid(shape_of(action)))))
def test_no_request_breaks_the_check(call: tuple[str, dict[str, Any]]) -> None:
    """It accepts a request, or refuses it with an error of AWS."""
    with suppress(AwsError):
        check_request(*call)


@given(
    st.lists(
        ACTIONS.flatmap(
            lambda action: st.tuples(
                st.just(action), valid(shape_of(action)) | nearly_valid(shape_of(action))
            )
        ),
        max_size=5,
    )
)
def test_no_request_breaks_an_operation(calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Every response is a result, or an error of AWS with status 400."""
    emulator = Emulator(settings=Settings(limits=Limits.unlimited()))
    try:
        emulator.create_stream("orders")
        for action, params in calls:
            named = {**params, "StreamName": "orders"} if "StreamName" in params else params
            assert emulator._service.response(Request(action, named, "us-east-1")).status in (200, 400)
    finally:
        emulator.stop()
