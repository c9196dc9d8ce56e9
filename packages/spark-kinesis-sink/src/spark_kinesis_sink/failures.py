"""What users of Spark see of an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kinesis_core.errors import KinesisError
from kinesis_credentials import CredentialsError


class ColumnError(KinesisError, ValueError):
    """A column that the sink needs is missing, or has a type that it cannot write."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """
    Let our errors through without their causes; usable as a decorator as well.

    Spark prints an error's traceback with all its causes, and would bury the sentence that says what to do
    under botocore's frames. The message carries AWS's code and request id already.
    """
    try:
        yield
    except (KinesisError, CredentialsError) as error:
        error.__cause__ = None
        error.__suppress_context__ = True
        raise
