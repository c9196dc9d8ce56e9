"""The choice of a format of bodies, for options: they are read in processes that do without botocore, which `wire_format.py` needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from io import BytesIO
from typing import Any

from kinesis_core.errors import OptionError
from kinesis_credentials import Advice

CBOR_LIMITS: Mapping[str, Any] = {
    "max_depth": 32,  # far more than responses nest
    "allow_duplicate_keys": False,
    "strict_hashable_types": True,
}
"""What the decoder of cbor2 must refuse. Versions before 6.2, which pyproject.toml excludes, do not know all of these."""


class WireFormat(Enum):
    """The format of the bodies of GetRecords, PutRecords and GetShardIterator. All other calls use JSON."""

    JSON = "json"
    """The default."""
    CBOR = "cbor"
    """Payloads without base64, so a quarter fewer bytes. Requires the extra `kinesis-core[cbor]`. Not yet used against AWS."""


def _load_cbor2() -> Any:
    import cbor2  # optional

    return cbor2


def check_cbor(load: Callable[[], Any] = _load_cbor2) -> None:
    """
    Check that the package for CBOR is installed in a version that has the limits this package sets.

    *load* returns its module. That costs 2 ms. To ask for its version costs 50 ms in a worker of Spark: Python searches Spark's
    archives for it.

    Raises:
        OptionError: It is not installed, or too old.
    """
    try:
        load().CBORDecoder(BytesIO(), **CBOR_LIMITS)
    except (ImportError, TypeError) as error:
        raise OptionError(
            "CBOR needs a package that is not installed, or too old.", advice=Advice.INSTALL_CBOR
        ) from error
