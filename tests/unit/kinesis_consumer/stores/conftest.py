"""Tables of each kind, empty and prepared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.item_tables import KINDS, Opener, Servers


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The servers that tables need. Each starts when a test needs it."""
    with Servers() as running:
        yield running


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """A kind of tables."""
    return str(request.param)


@pytest.fixture
def is_moto(kind: str) -> bool:
    return kind == "dynamodb"


@pytest.fixture
def unprepared(kind: str, servers: Servers, tmp_path: Path) -> Iterator[Opener]:
    """Opens a table once more: each call is another worker. The table does not exist yet."""
    with servers.opener(kind, tmp_path) as opener:
        yield opener


@pytest.fixture
def opener(unprepared: Opener) -> Opener:
    """Opens a table once more: each call is another worker. The table is prepared."""
    unprepared().prepare()
    return unprepared
