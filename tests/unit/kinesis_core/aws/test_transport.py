"""The choice of the HTTP transport for the frequent calls."""

from __future__ import annotations

import pytest

from kinesis_core.aws.transport import VARIABLE, Transport, choose_transport
from kinesis_core.errors import OptionError


@pytest.mark.parametrize(
    ("option", "variable", "transport"),
    [
        (None, None, Transport.DIRECT),
        (None, "botocore", Transport.BOTOCORE),
        (None, "DIRECT", Transport.DIRECT),
        (None, "", Transport.DIRECT),
        (None, " botocore ", Transport.BOTOCORE),
        (Transport.DIRECT, "botocore", Transport.DIRECT),
        (Transport.BOTOCORE, None, Transport.BOTOCORE),
        (Transport.BOTOCORE, "neither", Transport.BOTOCORE),
    ],
)
def test_the_option_wins(option: Transport | None, variable: str | None, transport: Transport) -> None:
    """The option comes first, then the environment variable, then the default."""
    assert choose_transport(option, {} if variable is None else {VARIABLE: variable}) is transport


def test_another_value_is_an_error() -> None:
    """A misspelt variable is an error; it does not select the default."""
    with pytest.raises(OptionError, match=r"KINESIS_HTTP_TRANSPORT is 'boto'\. Use 'direct' or 'botocore'"):
        choose_transport(None, {VARIABLE: "boto"})
