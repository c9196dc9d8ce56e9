"""The tables of a group."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from kinesis_consumer.stores import ItemTable


@frozen
class GroupTables:
    """The tables of a group. A KCL of 3.0 to 3.4 coordinates in two tables of its own; all others have one."""

    leases: ItemTable
    legacy_coordination: ItemTable | None = None
    legacy_reports: ItemTable | None = None
    look_again: Callable[[], GroupTables] | None = field(default=None, eq=False, repr=False)
    """
    Looks for the other two tables: they appear if an application is upgraded to one of these versions. None if there never are any.
    Raises a `ServiceError` if the store fails.
    """

    def all(self) -> list[ItemTable]:
        """Return the tables that there are."""
        return [
            table
            for table in (self.leases, self.legacy_coordination, self.legacy_reports)
            if table is not None
        ]
