"""URLs of services: which are accepted, and the region in the host, by botocore's data of AWS's partitions."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kinesis_credentials.base import shorten

if TYPE_CHECKING:
    from botocore.session import Session

KIND_OF_URL = "an http or https URL, such as http://127.0.0.1:4567"
_BOTOCORE_REFUSES = "Invalid endpoint: "
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_HOST = re.compile(rf"(?=.{{1,254}}\Z){_LABEL}(\.{_LABEL})*\.?")


class BadUrlError(ValueError):
    """
    A URL of a service is refused. The text continues the name of a setting, and shows no secret.

    Attributes:
        hint: A sentence that says what to change. It may be empty.
        hides_url: Whether the URL may hold a secret.
    """

    def __init__(self, url: str, hint: str = "", *, hides_url: bool = False) -> None:
        self.hint = hint
        self.hides_url = hides_url or any(mark in url for mark in "@?#")
        given = (
            "has a value that is not accepted, and not shown" if self.hides_url else f"is {shorten(url)!r}"
        )
        super().__init__(" ".join(filter(None, (f"{given}.", hint, f"Use {KIND_OF_URL}."))))


def verify_url(url: str) -> None:
    """
    Verify that *url* is that of a service, as botocore accepts it, without a part that may hold a secret.

    Raises:
        BadUrlError: It is not.
    """
    try:
        parts = urlsplit(url)
        is_good = parts.port != 0 and parts.scheme in ("http", "https") and _is_host(parts.hostname or "")
    except ValueError:
        raise BadUrlError(url, hides_url=True) from None
    if "@" in url:
        raise BadUrlError(url, "Remove the user and the password.")
    if parts.query or parts.fragment:
        raise BadUrlError(url, "Remove the part that begins with '?' or '#'.")
    if not is_good or re.search(r"\s", url):
        raise BadUrlError(url)


def create_client(session: Session, service: str, url: str | None, **arguments: Any) -> Any:
    """
    Return a client of botocore at *url*, or where the environment or the AWS configuration says.

    Raises:
        BadUrlError: That URL is refused.
    """
    if url is not None:
        verify_url(url)
    try:
        client = session.create_client(service, endpoint_url=url, **arguments)
    except ValueError as error:
        refused = str(error).removeprefix(_BOTOCORE_REFUSES)
        if refused != str(error) or "@" in refused:
            raise BadUrlError(refused) from None
        raise
    verify_url(client.meta.endpoint_url)  # botocore accepts more, and its errors show it
    return client


def _is_host(name: str) -> bool:
    """Return whether botocore accepts *name* as a host. It refuses names that DNS forbids, such as with an underscore."""
    if ":" not in name:
        return _HOST.fullmatch(name) is not None
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def find_endpoint_region(endpoint_url: str) -> str | None:
    """Return the region in the host of *endpoint_url*; None if it has none or is outside AWS."""
    host = _get_host(endpoint_url)
    for suffix, pattern in _load_partitions():
        if host.endswith(suffix):
            for label in reversed(host.removesuffix(suffix).split(".")):
                if pattern.fullmatch(label):
                    return label
    return None


def is_aws_endpoint(endpoint_url: str) -> bool:
    """Return whether the host of *endpoint_url* belongs to AWS."""
    return any(_get_host(endpoint_url).endswith(suffix) for suffix, _ in _load_partitions())


def _get_host(endpoint_url: str) -> str:
    return (urlsplit(endpoint_url).hostname or "").rstrip(".")


@lru_cache(maxsize=1)
def _load_partitions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each DNS suffix of AWS with the pattern of its regions, from botocore's data."""
    data = _read_partitions()
    return tuple(
        (f".{partition['outputs'][kind]}", re.compile(partition["regionRegex"]))
        for partition in data["partitions"]
        for kind in ("dnsSuffix", "dualStackDnsSuffix")
        if partition["outputs"].get(kind)
    )


def _read_partitions() -> dict[str, Any]:
    import botocore  # most queries have no endpoint

    path = os.path.join(botocore.BOTOCORE_ROOT, "data", "partitions.json")
    if os.path.isfile(path):  # botocore's loader imports most of botocore, which takes 35 ms of CPU
        with open(path, encoding="utf-8") as file:
            data: dict[str, Any] = json.load(file)
        return data
    from botocore.loaders import Loader

    return dict(Loader().load_data("partitions"))
