"""What all tables do: memory, SQLite and DynamoDB have one behaviour."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kinesis_consumer.stores import ItemTable, Update
from kinesis_core.errors import InvalidRequestError
from kinesis_core.leases import Item
from support.item_tables import Opener

KEY = "shardId-000000000000"
ITEM: Item = {
    "checkpoint": "49662",
    "leaseCounter": 7,
    "throughputKBps": 12.345678,
    "pendingCheckpointState": b"\x00\xff",
    "parentShardId": frozenset({"shardId-000000000008", "shardId-000000000009"}),
    "h": [{"cv": "CLIENT_VERSION_3X", "mts": 1790000000000}, ["B", {"B": "text"}, b""]],
    "sts": {"C": [1, 2.5, -1], "B": {"S": b"\x01"}, "empty": {}},
    "empty": "",
}


@pytest.fixture
def table(opener: Opener) -> ItemTable:
    return opener()


def written(table: ItemTable, **attributes: Any) -> Item:
    """Create the item KEY with *attributes*, and return it."""
    assert table.create(KEY, attributes)
    return {"leaseKey": KEY, **attributes}


def kinds_of(value: Any) -> Any:
    """Return *value* with the type of each part."""
    match value:
        case dict():
            return {name: kinds_of(part) for name, part in value.items()}
        case list():
            return [kinds_of(part) for part in value]
        case _:
            return type(value)


def test_an_item_comes_back_as_it_was(table: ItemTable) -> None:
    """Every kind of value comes back with its type, in all ways to read it. The item has its key."""
    item = written(table, **ITEM)
    found = table.get(KEY)
    assert found == item
    assert kinds_of(found) == kinds_of(item)
    assert table.scan() == [item]
    assert table.update(Update(KEY, {}, set={"new": 1})) == {**item, "new": 1}


def test_an_update_changes_what_it_names(table: ItemTable) -> None:
    """Attributes are set, removed and added to, the others stay, and the whole new item is returned."""
    written(
        table,
        checkpoint="1",
        leaseCounter=7,
        leaseOwner="a",
        pendingCheckpoint="2",
        parentShardId=frozenset({"p"}),
    )
    update = Update(
        KEY,
        expect={"leaseCounter": 7},
        set={"checkpoint": "3", "childShardIds": frozenset({"c", "d"})},
        remove=("leaseOwner", "pendingCheckpoint", "neverThere"),
        add={"leaseCounter": 1, "ownerSwitchesSinceCheckpoint": 1},
    )
    new = {
        "leaseKey": KEY,
        "checkpoint": "3",
        "childShardIds": frozenset({"c", "d"}),
        "leaseCounter": 8,
        "ownerSwitchesSinceCheckpoint": 1,
        "parentShardId": frozenset({"p"}),
    }
    assert table.update(update) == new
    assert table.get(KEY) == new
    assert table.update(update) is None  # the counter is another one


PRESENT = {
    "leaseOwner": "a",
    "leaseCounter": 7,
    "state": b"x",
    "parents": frozenset({"p"}),
    "h": [{"cv": "3X"}],
}
EXPECTATIONS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"leaseOwner": "a", "leaseCounter": 7}, True),
    ({"leaseOwner": "a", "leaseCounter": 8}, False),
    ({"leaseOwner": "b"}, False),
    ({"leaseOwner": None}, False),
    ({"checkpointOwner": None}, True),
    ({"checkpointOwner": ""}, False),
    ({"checkpointOwner": "a"}, False),
    ({"leaseCounter": 7.0}, True),
    ({"leaseCounter": "7"}, False),
    ({"leaseKey": KEY}, True),
    ({"leaseKey": None}, False),
    ({"state": b"x"}, True),
    ({"state": "x"}, False),
    ({"parents": frozenset({"p"})}, True),
    ({"parents": frozenset({"p", "q"})}, False),
    ({"parents": ["p"]}, False),
    ({"h": [{"cv": "3X"}]}, True),
    ({"h": [{"cv": "2X"}]}, False),
]


@pytest.mark.parametrize(("expect", "is_met"), EXPECTATIONS)
def test_expectations(table: ItemTable, expect: dict[str, Any], is_met: bool) -> None:
    """An attribute has to be equal, or absent where None is expected. Else nothing is written or deleted."""
    item = written(table, **PRESENT)
    updated = table.update(Update(KEY, expect, set={"seen": 1}))
    assert updated == ({**item, "seen": 1} if is_met else None)
    assert table.get(KEY) == (updated or item)
    assert table.delete(KEY, expect) is is_met
    assert (table.get(KEY) is None) is is_met


def test_a_missing_item_has_no_attributes(table: ItemTable) -> None:
    """Where there is no item, what is expected to be absent is absent, and an update makes an item."""
    assert table.update(Update(KEY, {"leaseCounter": 0}, set={"a": 1})) is None
    assert table.update(Update(KEY, {"leaseKey": KEY}, set={"a": 1})) is None
    assert not table.delete(KEY, {"leaseOwner": "a"})
    assert table.delete(KEY, {"leaseOwner": None})
    assert table.delete(KEY, {})
    assert table.scan() == []
    update = Update(KEY, {"leaseOwner": None}, set={"a": 1}, remove=("b",), add={"leaseCounter": 5})
    assert table.update(update) == {"leaseKey": KEY, "a": 1, "leaseCounter": 5}


def test_an_update_without_a_change(table: ItemTable, is_moto: bool) -> None:
    """An update that changes nothing makes an item with a key only, or returns the one that is there."""
    if is_moto:
        pytest.skip("moto responds with status 500 to an update without an expression")
    assert table.update(Update(KEY, {})) == {"leaseKey": KEY}
    assert table.get(KEY) == {"leaseKey": KEY}
    assert table.update(Update(KEY, {"leaseKey": KEY})) == {"leaseKey": KEY}


@pytest.mark.parametrize(
    "update",
    [
        Update(KEY, {}, set={"leaseKey": "other"}),
        Update(KEY, {}, remove=("leaseKey",)),
        Update(KEY, {}, add={"leaseKey": 1}),
        Update(KEY, {}, set={"b": 1}, add={"a": 1}),
    ],
    ids=str,
)
def test_updates_that_are_invalid(table: ItemTable, update: Update, is_moto: bool) -> None:
    """An update of the key, or one that adds to text, is an error and changes nothing."""
    item = written(table, a="text")
    with pytest.raises(InvalidRequestError):
        table.update(update)
    if not is_moto or update.set.keys() != {"b"}:  # moto makes the first part of such an update
        assert table.scan() == [item]
    assert table.update(Update(KEY, {}, set={"b": 2})) == {**item, "b": 2}


def test_an_attribute_changes_once() -> None:
    """An update that changes an attribute in two ways cannot be made."""
    with pytest.raises(ValueError, match="changes a, b more than once"):
        Update(KEY, {}, set={"a": 1, "b": 1}, remove=("b",), add={"a": 1})


def test_owners(table: ItemTable) -> None:
    """The keys of an owner follow what is written to leaseOwner. Another attribute is no owner."""
    for key, owner in (("1", "a"), ("2", "b"), ("3", "a")):
        assert table.create(key, {"leaseOwner": owner})
    assert table.create("4", {"checkpointOwner": "a"})
    assert sorted(table.keys_of_owner("a")) == ["1", "3"]
    table.update(Update("1", {"leaseOwner": "a"}, set={"leaseOwner": "b"}))
    table.update(Update("2", {}, remove=("leaseOwner",)))
    table.delete("3", {})
    assert table.keys_of_owner("a") == []
    assert table.keys_of_owner("b") == ["1"]


NUMBERS = [0, -1, 2**31 - 1, 2**63, 10**37, -(10**37), 0.1, -2.5, 1e-7]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(table: ItemTable, number: float) -> None:
    """Large integers and small fractions come back as they were, also after adding."""
    item = written(table, n=number)
    assert table.get(KEY) == item
    if isinstance(number, int):
        assert table.update(Update(KEY, {"n": number}, add={"n": 1})) == {"leaseKey": KEY, "n": number + 1}


TEXTS = [
    "日本語",
    "💥",
    "a'b\"c`d",
    "%s ? :x #y",
    "a.b[0]",
    "\u0000",
    "x" * 2000,
    " ",
    "\u2028",
    "é vs e\u0301",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts(table: ItemTable, text: str) -> None:
    """Any text can be a key, an owner, a value or the name of an attribute."""
    item: Item = {"leaseOwner": text, "set": frozenset({text}), f"n{text}"[:200]: [text, {text: text}]}
    assert table.create(text[:1000], item)
    assert table.get(text[:1000]) == {"leaseKey": text[:1000], **item}
    assert table.keys_of_owner(text) == [text[:1000]]
    name = f"n{text}"[:200]
    assert table.update(Update(text[:1000], {name: item[name]}, set={name: 1})) is not None
    assert table.update(Update(text[:1000], {name: 1}, remove=(name,), add={f"{name}2": 2})) == {
        "leaseKey": text[:1000],
        "leaseOwner": text,
        "set": frozenset({text}),
        f"{name}2": 2,
    }


def test_items_have_nothing_in_common_with_what_callers_hold(table: ItemTable) -> None:
    """Changes of a value that was passed or returned change no item."""
    inner: list[Any] = [{"cv": "2X"}]
    assert table.create(KEY, {"h": inner})
    inner.append("more")
    held = [table.update(Update(KEY, {}, set={"g": inner})), table.get(KEY), *table.scan()]
    inner.clear()
    for item in held:
        assert item is not None
        for name in {"g", "h"} & set(item):
            item[name].append("more")  # type: ignore[union-attr] # it is a list
    assert table.get(KEY) == {"leaseKey": KEY, "h": [{"cv": "2X"}], "g": [{"cv": "2X"}, "more"]}


def test_another_worker_sees_it_at_once(opener: Opener) -> None:
    """What one worker wrote, another one reads, and each of them can prepare the table again."""
    first, second = opener(), opener()
    item = written(first, leaseOwner="a")
    second.prepare()
    assert second.get(KEY) == item
    assert second.scan() == [item]
    assert second.keys_of_owner("a") == [KEY]
    assert second.update(Update(KEY, {"leaseOwner": "a"}, remove=("leaseOwner",))) == {"leaseKey": KEY}
    assert first.get(KEY) == {"leaseKey": KEY}


def test_close_twice(opener: Opener) -> None:
    """A table is closed more than once, and the items stay."""
    first, second = opener(), opener()
    item = written(first, a=1)
    first.close()
    first.close()
    assert second.get(KEY) == item


def at_once(work: Callable[[int], None], count: int) -> None:
    """Run *work* in *count* threads, which start together."""
    barrier, errors = threading.Barrier(count), []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 # raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


WORKERS, ROUNDS = 4, 10


@pytest.mark.parametrize("is_shared", [True, False], ids=["one table", "a table each"])
def test_one_of_several_wins(opener: Opener, is_shared: bool) -> None:
    """Of several workers that take, create or delete an item at the same time, exactly one succeeds each time."""
    shared = opener()
    tables = [shared if is_shared else opener() for _ in range(WORKERS)]
    wins: list[tuple[str, int]] = []
    between = threading.Barrier(WORKERS)

    def compete(worker: int) -> None:
        for counter in range(ROUNDS):
            between.wait()
            if tables[worker].create(f"new-{counter}", {"leaseOwner": str(worker)}):
                wins.append(("create", counter))
            taken = Update(
                KEY,
                {"leaseCounter": counter or None},
                set={"leaseOwner": str(worker)},
                add={"leaseCounter": 1},
            )
            if tables[worker].update(taken) is not None:
                wins.append(("update", counter))
            between.wait()
            if tables[worker].delete(f"new-{counter}", {"leaseKey": f"new-{counter}"}):
                wins.append(("delete", counter))

    at_once(compete, WORKERS)
    assert sorted(wins) == sorted((what, n) for what in ("create", "update", "delete") for n in range(ROUNDS))
    assert [item["leaseCounter"] for item in shared.scan()] == [ROUNDS]


def test_workers_that_start_together(unprepared: Opener) -> None:
    """Several workers prepare the same new table at the same time, and each can use it then."""
    tables = [unprepared() for _ in range(WORKERS)]

    def start(worker: int) -> None:
        tables[worker].prepare()
        assert tables[worker].update(Update(KEY, {}, add={"n": 1})) is not None

    at_once(start, WORKERS)
    assert tables[0].get(KEY) == {"leaseKey": KEY, "n": WORKERS}
