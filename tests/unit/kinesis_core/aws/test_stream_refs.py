"""Which texts name a stream."""

from __future__ import annotations

from typing import Any

import pytest

from kinesis_core import OptionError, Producer, Stream
from kinesis_core.aws import StreamRef

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/"


@pytest.mark.parametrize("name", ["orders", "a", "Orders_2.new-1", "x" * 128])
def test_names_and_arns(name: str) -> None:
    """A stream goes by its name or by its ARN."""
    assert StreamRef.parse(name) == StreamRef(name)
    assert StreamRef.parse(ARN + name) == StreamRef(name, ARN + name)


@pytest.mark.parametrize("name", ["", " ", "a b", "orders\n", "a/b", "ä", "x" * 129, ARN, f"{ARN}a b"])
@pytest.mark.parametrize("parse", [StreamRef.parse, Stream.open, Producer.open])
def test_what_is_no_stream(parse: Any, name: str) -> None:
    """What no stream can be called is refused before a call is made: Kinesis' own error does not say what is wrong with it."""
    with pytest.raises(
        OptionError, match=r"is not the name of a stream\. Give its ARN, or its name of 1 to 128 letters"
    ):
        parse(name)
