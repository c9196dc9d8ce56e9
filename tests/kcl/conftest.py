"""DynamoDB Local, an emulator of Kinesis, and applications of the KCL over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kinesis_emulator import EmulatorProcess
from support.kcl.application import KclApplication, archive_classes
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.worker import PROGRAMS, VERSIONS
from support.witness import WitnessUnavailableError, require


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DynamoDbLocal]:
    """Yield a DynamoDB. Where it or the KCL cannot be installed, the test is skipped with the reason, or fails."""
    with ExitStack() as stack:
        try:
            for program in PROGRAMS.values():
                program.install()
            folder = tmp_path_factory.mktemp("dynamodb")
            server = stack.enter_context(DynamoDbLocal.start(folder / "log"))
        except WitnessUnavailableError as error:
            require(error)
        for version in VERSIONS:
            archive_classes(version, server, folder)
        yield server


@pytest.fixture(scope="session")
def kinesis_url() -> Iterator[str]:
    with EmulatorProcess() as emulator:
        yield emulator.endpoint_url


@pytest.fixture
def kcl_application(
    dynamodb_local: DynamoDbLocal, kinesis_url: str, tmp_path: Path
) -> Iterator[Callable[..., KclApplication]]:
    """Yield a function that makes applications, each with a stream and a lease table of its own."""
    with ExitStack() as stack:

        def make(shards: int = 2) -> KclApplication:
            application = KclApplication(dynamodb_local, kinesis_url, tmp_path, shards)
            return stack.enter_context(application)

        yield make


@pytest.fixture
def application(kcl_application: Callable[..., KclApplication]) -> KclApplication:
    """Return an application of a stream with two shards, whose lease table has its index."""
    made = kcl_application()
    made.create_table()
    return made
