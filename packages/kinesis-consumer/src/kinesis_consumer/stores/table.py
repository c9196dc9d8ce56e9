"""Tables of items with conditional writes: all that the workers of a group know of each other goes through one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from attrs import field, frozen

from kinesis_core.errors import InvalidRequestError
from kinesis_core.leases import LEASE_KEY, Item, Value


@frozen
class Update:
    """A conditional change of one item. It is made as a whole or not at all. It changes each attribute at most once."""

    key: str
    expect: Mapping[str, Value | None]
    """The values that attributes must have; None: the attribute must be absent. An absent item has no attributes."""
    set: Mapping[str, Value] = field(factory=dict)
    remove: tuple[str, ...] = ()
    add: Mapping[str, int] = field(factory=dict)
    """Numbers to add to attributes. An absent attribute counts as 0."""

    def __attrs_post_init__(self) -> None:
        changed = Counter([*self.set, *self.remove, *self.add])
        if repeated := sorted(name for name, times in changed.items() if times > 1):
            raise ValueError(f"An update changes {', '.join(repeated)} more than once.")

    def apply(self, item: Item | None) -> Item | None:
        """
        Return the new item that the update makes from *item*, by the rules of DynamoDB. None if an expectation is not met. *item*
        does not change.

        Raises:
            InvalidRequestError: The update changes the key, or adds to an attribute that is not a number.
        """
        if not meets(item, self.expect):
            return None
        if LEASE_KEY in {*self.set, *self.remove, *self.add}:
            raise self._invalid(f"changes {LEASE_KEY}, which is the key")
        new: Item = {**(item or {LEASE_KEY: self.key}), **self.set}
        for name in self.remove:
            new.pop(name, None)
        for name, number in self.add.items():
            present = new.get(name, 0)
            if not isinstance(present, (int, float)):
                raise self._invalid(f"adds to {name}, which is not a number")
            new[name] = present + number
        return new

    def _invalid(self, what: str) -> InvalidRequestError:
        return InvalidRequestError(
            f"The update of item {self.key} {what}. Correct the update.", code="InvalidUpdate"
        )


def meets(item: Item | None, expect: Mapping[str, Value | None]) -> bool:
    """Return whether *item* has the expected values. A missing item has no attributes."""
    found = item or {}
    return all(found.get(name) == value for name, value in expect.items())


class ItemTable(Protocol):
    """
    A table of items by key. Threads may share it.

    Each call makes one attempt and raises only `ServiceError`s. The callers retry. After an error
    it is unknown whether a write was made.
    """

    @property
    def name(self) -> str:
        """The name of the table: by default the name of the application."""
        ...

    def prepare(self) -> None:
        """
        Create the table and its index if they are missing, and wait until both can be used.

        Raises:
            OptionError: The name belongs to something else. For a DynamoDB table with another key, a `TableLayoutError`.
            GroupStateError: Another version of this package has created it.
        """
        ...

    def scan(self) -> list[Item]:
        """Return all items in any order. Each item is as it was written at some moment during the call."""
        ...

    def get(self, key: str) -> Item | None:
        """Return an item as it is now; None if there is none."""
        ...

    def keys_of_owner(self, owner: str) -> list[str]:
        """Return the keys of the items whose `leaseOwner` is *owner*. The list may be some seconds old."""
        ...

    def create(self, key: str, item: Item) -> bool:
        """Write a new item, unless the key exists. Returns whether it was written. *item* does not contain the key."""
        ...

    def update(self, update: Update) -> Item | None:
        """Change an item, or create it. Returns the whole new item. None if an expectation is not met."""
        ...

    def delete(self, key: str, expect: Mapping[str, Value | None]) -> bool:
        """Delete an item. Returns False if an expectation is not met. True also if there was no item and no value is expected."""
        ...

    def close(self) -> None:
        """Close connections and files. Idempotent."""
        ...
