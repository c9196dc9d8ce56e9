"""Services that give temporary keys, moto's and our own. The tests do not see the machine's AWS configuration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.aws_home import aws_home
from support.key_services import KeyServices
from support.witness import moto as start_moto

__all__ = ["aws_home"]


@pytest.fixture
def services() -> Iterator[KeyServices]:
    """An STS and a container endpoint that record their callers."""
    with KeyServices() as running:
        yield running


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    with start_moto() as endpoint_url:
        yield endpoint_url
