"""The tables of a group."""

from __future__ import annotations

from attrs import frozen

from kinesis_consumer.stores import ItemTable


@frozen
class GroupTables:
    """The tables of a group. A KCL of 3.0 to 3.4 coordinates in two tables of its own; all others have one."""

    leases: ItemTable
    legacy_coordination: ItemTable | None = None
    legacy_reports: ItemTable | None = None

    def all(self) -> list[ItemTable]:
        """Return the tables that there are."""
        return [
            table
            for table in (self.leases, self.legacy_coordination, self.legacy_reports)
            if table is not None
        ]
