"""What users of Spark see of an error."""

from __future__ import annotations

import traceback

import pytest

from kinesis_core.errors import ServiceError
from spark_kinesis_source.failures import plain_errors


@plain_errors()
def fail(error: Exception) -> None:
    try:
        raise KeyError("a cause deep inside")
    except KeyError as cause:
        raise error from cause


def test_causes_are_left_out() -> None:
    """Our errors come without the tracebacks of what caused them."""
    with pytest.raises(ServiceError) as caught:
        fail(ServiceError("Kinesis said no", "NoException", "id-1"))
    text = "".join(traceback.format_exception(caught.value))
    assert "Kinesis said no" in text
    assert "KeyError: " not in text


def test_bugs_keep_their_causes() -> None:
    """An error that is not ours is a bug, and keeps all that there is to know about it."""
    with pytest.raises(RuntimeError) as caught:
        fail(RuntimeError("a bug"))
    assert isinstance(caught.value.__cause__, KeyError)
