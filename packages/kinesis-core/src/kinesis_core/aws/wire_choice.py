"""The choice of a format of bodies, for options: they are read in processes that do without botocore, which `wire_format.py` needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from importlib.metadata import PackageNotFoundError, version

from kinesis_core.errors import OptionError

_CBOR2 = [6, 2]
"""The oldest version of cbor2 that limits the depth and refuses repeated keys; also in pyproject.toml."""


class WireFormat(Enum):
    """The format of the bodies of GetRecords, PutRecords and GetShardIterator. All other calls use JSON."""

    JSON = "json"
    """The default."""
    CBOR = "cbor"
    """Payloads without base64, so a quarter fewer bytes. Requires the extra `kinesis-core[cbor]`. Not yet used against AWS."""


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def check_cbor(find: Callable[[str], str] = _find_version) -> None:
    """
    Check that the package for CBOR is installed in a version that has the limits this package sets.

    *find* returns the version of a package; "" if it is not installed.

    Raises:
        OptionError: It is not installed, or too old.
    """
    found = [int(part) for part in re.findall(r"\d+", find("cbor2"))[:2]]
    if found < _CBOR2:
        raise OptionError(
            "CBOR needs a package that is not installed, or too old. Run pip install 'kinesis-core[cbor]' on the driver and the executors, "
            "or leave wireFormat at json."
        )
