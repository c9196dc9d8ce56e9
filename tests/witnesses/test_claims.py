"""The table of libraries in the documentation."""

from __future__ import annotations

from support.witnesses.claims import claims, libraries


def test_the_table_names_what_is_installed() -> None:
    """Each library is in the table with the version that the tests run."""
    assert {library for library, _ in claims()} == libraries()
