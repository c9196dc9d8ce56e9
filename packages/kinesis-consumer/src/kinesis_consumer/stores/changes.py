"""What a conditional change makes of an item, for the tables that apply it themselves. The rules are those of DynamoDB."""

from __future__ import annotations

from collections.abc import Mapping

from kinesis_consumer.stores.table import Update
from kinesis_core.errors import InvalidRequestError
from kinesis_core.leases import LEASE_KEY, Item, Value


def meets(item: Item | None, expect: Mapping[str, Value | None]) -> bool:
    """Return whether *item* has the expected values. A missing item has no attributes."""
    found = item or {}
    return all(found.get(name) == value for name, value in expect.items())


def change(item: Item | None, update: Update) -> Item:
    """
    Return what *update* makes of *item*, whether or not its expectations are met. *item* stays as it is.

    Raises:
        InvalidRequestError: The update changes the key, or adds to an attribute that is not a number.
    """
    if LEASE_KEY in {*update.set, *update.remove, *update.add}:
        raise _invalid(update, f"changes {LEASE_KEY}, which is the key")
    new: Item = {**(item or {LEASE_KEY: update.key}), **update.set}
    for name in update.remove:
        new.pop(name, None)
    for name, number in update.add.items():
        present = new.get(name, 0)
        if not isinstance(present, (int, float)):
            raise _invalid(update, f"adds to {name}, which is not a number")
        new[name] = present + number
    return new


def _invalid(update: Update, what: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The update of item {update.key} {what}. Correct the update.", code="InvalidUpdate"
    )
