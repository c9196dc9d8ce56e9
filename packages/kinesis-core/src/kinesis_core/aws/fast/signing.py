"""Signs requests like one that botocore has signed, with other bodies: in a few microseconds instead of half a millisecond."""

from __future__ import annotations

import hmac
import random
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from attrs import define, field
from botocore.awsrequest import AWSPreparedRequest
from botocore.credentials import ReadOnlyCredentials

_ALGORITHM = "AWS4-HMAC-SHA256"
_TIME = "%Y%m%dT%H%M%SZ"
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_DATE_HEADER = "x-amz-date"


@define(repr=False)
class RequestTemplate:
    """
    The parts of a request that stay the same for all calls of an action on a stream, while the keys stay the same.

    Its repr shows none of it: the headers may hold a session token.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """

    keys: ReadOnlyCredentials
    _request: AWSPreparedRequest
    _headers: dict[str, str]
    _signed_names: str
    _scope: str
    """Region, service and terminator of the scope; the request puts its day before them."""
    _canonical: tuple[str, str]
    """The canonical request up to its time, and from there to the hash of its body."""
    _of_day: tuple[str, hmac.HMAC | None] = field(default=("", None), init=False)

    def make(self, body: bytes, now: datetime) -> AWSPreparedRequest:
        """Return a request with *body*, signed at *now*, which is in UTC."""
        time = _show_time(now)
        before, after = self._canonical
        canonical = f"{before}{time}{after}{sha256(body).hexdigest()}"
        scope = f"{time[:8]}/{self._scope}"
        to_sign = f"{_ALGORITHM}\n{time}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signer = self._signer(time[:8]).copy()
        signer.update(to_sign.encode())
        authorization = (
            f"{_ALGORITHM} Credential={self.keys.access_key}/{scope}, "
            f"SignedHeaders={self._signed_names}, Signature={signer.hexdigest()}"
        )
        headers: dict[str, Any] = {
            **self._headers,
            "X-Amz-Date": time,
            "Authorization": authorization,
            "amz-sdk-invocation-id": _new_id(),
            "Content-Length": str(len(body)),
        }
        method, url = self._request.method, self._request.url
        return AWSPreparedRequest(method, url, headers, body, stream_output=False)  # type: ignore[arg-type] # any mapping does

    def _signer(self, day: str) -> hmac.HMAC:
        """
        Return the HMAC with the key of *day*, to be copied. A thread that finds the key of another day makes its own.

        hmac.digest would release Python's lock for each call, and wait for it again.
        """
        known, signer = self._of_day
        if signer is None or known != day:
            key = f"AWS4{self.keys.secret_key}".encode()
            for part in (day, *self._scope.split("/")):
                key = hmac.digest(key, part.encode(), "sha256")
            signer = hmac.new(key, digestmod="sha256")
            self._of_day = (day, signer)
        return signer


def _show_time(now: datetime) -> str:
    """Return the time in the form `_TIME`. strftime takes four times as long."""
    return f"{now.isoformat(timespec='seconds')[:19].replace('-', '').replace(':', '')}Z"


def _new_id() -> str:
    """Return a random UUID. uuid4 takes three times as long, and releases Python's lock."""
    digits = f"{random.getrandbits(128):032x}"  # it tells attempts apart, and is no secret
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def find_template(request: AWSPreparedRequest, keys: ReadOnlyCredentials) -> RequestTemplate | None:
    """
    Return a template for requests like *request*, or None if botocore signs in another way than this module.

    It is tried out: signed again at the same time, the request must get the same signature. So a change in botocore
    (another algorithm, more headers, unsigned bodies, other keys) yields no template, and calls go through botocore.
    """
    headers = {str(name): _as_text(value) for name, value in request.headers.items()}
    if headers.get("host") == _host_of(request.url):
        # With awscrt installed, botocore leaves the host among the headers. The transport adds it.
        del headers["host"]
    is_plain = all(value.isascii() for value in headers.values())
    if not is_plain or {"host", "accept-encoding"} & {name.lower() for name in headers}:
        return None  # set by a hook of the user: only botocore knows what to do with them
    try:
        template = _read_template(request, headers, keys)
        again = template.make(_as_bytes(request.body), datetime.strptime(headers["X-Amz-Date"], _TIME))
    except (KeyError, ValueError, TypeError):
        return None
    same = again.headers["Authorization"] == headers["Authorization"]
    return template if same and again.headers.keys() == headers.keys() else None


def _read_template(
    request: AWSPreparedRequest, headers: Mapping[str, str], keys: ReadOnlyCredentials
) -> RequestTemplate:
    credential, names, _ = headers["Authorization"].removeprefix(f"{_ALGORITHM} ").split(", ")
    signed_names = names.removeprefix("SignedHeaders=")
    url = urlsplit(request.url)
    values = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    values["host"] = _host_of(request.url)
    before, after = "", ""
    for name in signed_names.split(";"):
        if name == _DATE_HEADER:
            before, after = f"{after}{name}:", "\n"
        else:
            after += f"{name}:{values[name]}\n"
    return RequestTemplate(
        keys=keys,
        request=request,
        headers=dict(headers),
        signed_names=signed_names,
        scope=credential.split("/", 2)[2],
        canonical=(
            f"{request.method}\n{url.path or '/'}\n{url.query}\n{before}",
            f"{after}\n{signed_names}\n",
        ),
    )


def _host_of(address: str) -> str:
    url = urlsplit(address)
    return url.netloc.removesuffix(DEFAULT_PORTS[url.scheme])


def _as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


def _as_bytes(body: Any) -> bytes:
    if not isinstance(body, bytes):
        raise TypeError("the body is not bytes")
    return body
