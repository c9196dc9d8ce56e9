"""The emulator with AWS's quotas, and a DynamoDB for what shares the shards of a stream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinesis_emulator import Emulator
from support.kcl.dynamodb_local import DynamoDbLocal
from support.streams import StreamUnderTest
from support.witness import WitnessUnavailableError, require


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as started:
        yield started


@pytest.fixture
def stream(emulator: Emulator) -> StreamUnderTest:
    return StreamUnderTest(emulator.endpoint_url, shards=2)


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DynamoDbLocal]:
    """Yield a DynamoDB. Where it cannot be installed, the test is skipped with the reason, or fails."""
    try:
        server = DynamoDbLocal.start(tmp_path_factory.mktemp("dynamodb") / "log")
    except WitnessUnavailableError as error:
        require(error)
    with server:
        yield server
