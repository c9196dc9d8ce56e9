"""Tables of all kinds do the same, whatever is asked of them, in any order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import HealthCheck, given, settings, strategies as st

from kinesis_consumer.stores import ItemTable, MemoryTable, Update
from kinesis_consumer.stores.sqlite import decode_item, encode_item
from kinesis_core.errors import InvalidRequestError
from support.examples import examples
from support.item_tables import Servers

KEYS = st.sampled_from(["a", "b"])
NAMES = st.sampled_from(["leaseOwner", "leaseCounter", "checkpoint", "size", "é #:"])
TEXTS = st.sampled_from(["", "worker-1", "worker-2", "💥"])
OWNERS = TEXTS.filter(bool)  # an index of DynamoDB takes no empty text
NUMBERS = st.integers(-(10**30), 10**30) | st.integers(-2, 2) | st.sampled_from([0.5, -1.25])
SCALARS = TEXTS | NUMBERS | st.binary(max_size=3) | st.frozensets(OWNERS, min_size=1)
VALUES = st.recursive(
    SCALARS,
    lambda parts: st.lists(parts, max_size=2) | st.dictionaries(OWNERS, parts, max_size=2),
    max_leaves=4,
)


@st.composite
def items(draw: st.DrawFn) -> dict[str, Any]:
    """Draw attributes. An owner is text, which the index of DynamoDB asks for."""
    return {
        name: draw(OWNERS if name == "leaseOwner" else SCALARS | VALUES)
        for name in draw(st.sets(NAMES, max_size=3))
    }


@frozen
class Create:
    key: str
    item: dict[str, Any]


@frozen
class Delete:
    key: str
    expect: dict[str, Any]


@frozen
class Change:
    """
    An update. *keeps* says which of the present attributes it expects, so that many updates are made. It changes something: moto
    answers with status 500 to an update that does not.
    """

    key: str
    expect: dict[str, Any]
    keeps: bool
    set: dict[str, Any]
    remove: tuple[str, ...]
    add: dict[str, int]


PARTS = st.tuples(NAMES, st.sampled_from(["set", "remove", "add"])).filter(
    lambda part: part != ("leaseOwner", "add")
)
"""How an attribute changes. Nothing is added to an owner: it is text."""


@st.composite
def changes(draw: st.DrawFn) -> Change:
    parts = draw(st.lists(PARTS, unique_by=lambda part: part[0], min_size=1))
    drawn = draw(items())
    return Change(
        draw(KEYS),
        draw(st.dictionaries(NAMES, st.none() | SCALARS, max_size=2)),
        draw(st.booleans()),
        {name: drawn.get(name, "worker-1") for name, part in parts if part == "set"},
        tuple(name for name, part in parts if part == "remove"),
        {name: draw(st.integers(-3, 3)) for name, part in parts if part == "add"},
    )


OPERATIONS = (
    st.builds(Create, KEYS, items())
    | st.builds(Delete, KEYS, st.dictionaries(NAMES, st.none() | SCALARS, max_size=1))
    | changes()
)


def carry_out(operation: Create | Delete | Change, table: ItemTable, model: MemoryTable) -> Any:
    """Return what *table* answers. *model* says what is there before."""
    match operation:
        case Create(key, item):
            return table.create(key, item)
        case Delete(key, expect):
            return table.delete(key, expect)
        case Change(key=key):
            present = model.get(key) or {}
            expect = {
                name: present.get(name) if operation.keeps else value
                for name, value in operation.expect.items()
            }
            return table.update(Update(key, expect, operation.set, operation.remove, operation.add))


def by_key(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: str(item["leaseKey"]))


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers() as running:
        yield running


def check(table: ItemTable, operations: list[Create | Delete | Change]) -> None:
    """Carry *operations* out, and compare all that can be seen with a table in memory."""
    table.prepare()
    model = MemoryTable()
    for operation in operations:
        before = MemoryTable()
        for item in model.scan():
            before.create(str(item.pop("leaseKey")), item)
        try:
            expected = carry_out(operation, model, before)
        except InvalidRequestError:
            with pytest.raises(InvalidRequestError):
                carry_out(operation, table, before)
            return  # moto makes a part of an invalid update
        assert carry_out(operation, table, before) == expected
        assert by_key(table.scan()) == by_key(model.scan())
        for key in ("a", "b"):
            assert table.get(key) == model.get(key)
        for owner in ("worker-1", "worker-2", "💥"):
            assert sorted(table.keys_of_owner(owner)) == sorted(model.keys_of_owner(owner))


SEQUENCES = st.lists(OPERATIONS, min_size=1, max_size=12)
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=examples(100), suppress_health_check=FIXTURES)
@given(operations=SEQUENCES)
def test_sqlite(servers: Servers, tmp_path: Path, operations: list[Any]) -> None:
    """A table in a file behaves as one in memory."""
    with servers.opener("sqlite", tmp_path) as opener:
        check(opener(), operations)


@pytest.mark.tests  # with moto
@settings(max_examples=examples(15), suppress_health_check=FIXTURES)
@given(operations=SEQUENCES)
def test_dynamodb(servers: Servers, tmp_path: Path, operations: list[Any]) -> None:
    """A table in DynamoDB behaves as one in memory."""
    with servers.opener("dynamodb", tmp_path) as opener:
        check(opener(), operations)


@given(item=st.dictionaries(st.text(), VALUES | st.text() | st.floats(allow_nan=False)))
def test_items_as_text(item: dict[str, Any]) -> None:
    """Any item is the same after it was text, with the types of all values."""
    decoded = decode_item(encode_item(item))
    assert decoded == item
    assert [type(value) for value in decoded.values()] == [type(value) for value in item.values()]
