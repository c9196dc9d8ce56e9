"""The options of the proxy, and the URL that they result in."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from kinesis_core.errors import OptionError
from kinesis_core.options.option import Alternatives, BadValueError, Group, Parser
from kinesis_core.options.parsers import integer, text
from kinesis_core.options.table import Values

PROXY = Group("Proxy")


def _proxy_url() -> Parser[str]:
    """Return a parser of the URLs of proxies, which may contain a user and a password."""

    def parse(text: str) -> str:
        try:
            parts = urlsplit(text)
            port_is_good = parts.port != 0
        except ValueError:
            raise BadValueError(hides_value=True) from None
        is_good = parts.scheme in ("http", "https") and parts.hostname and port_is_good
        if not is_good or parts.path.strip("/") or parts.query or parts.fragment or re.search(r"\s", text):
            raise BadValueError(hides_value=True)
        return text.rstrip("/")

    return Parser("the http or https URL of a proxy, such as http://proxy.example.com:3128", parse)


def _proxy_host() -> Parser[str]:
    """Return a parser of hosts. It shows a wrong value only if that is a host with its port: others may hold a login."""

    def parse(text: str) -> str:
        if re.fullmatch(r"[a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\]", text):
            return text
        hint = (
            "Set a URL with 'proxyUrl', or its parts with 'proxyPort', 'proxyUsername' and 'proxyPassword'."
        )
        raise BadValueError(hint, hides_value=re.fullmatch(r"[a-zA-Z0-9._-]+:\d{1,5}", text) is None)

    return Parser("the name or address of a host", parse)


PROXY_URL = PROXY.option(
    name="proxyUrl",
    meaning=(
        "The proxy for all calls to AWS. The URL may contain a user and a password: "
        "`http://user:password@host:3128`."
    ),
    parser=_proxy_url(),
    default_text="the environment: botocore reads `HTTPS_PROXY` and `NO_PROXY`",
    is_secret=True,
)
PROXY_ADDRESS = PROXY.option(
    name="proxyAddress",
    meaning=(
        "The host of the proxy. `proxyAddress`, `proxyPort`, `proxyUsername` and `proxyPassword` together replace "
        "`proxyUrl`."
    ),
    parser=_proxy_host(),
)
PROXY_PORT = PROXY.option(
    name="proxyPort",
    meaning="The port of the proxy at `proxyAddress`.",
    parser=integer(1, 65535),
    default=443,
    needs=PROXY_ADDRESS,
)
PROXY_USERNAME = PROXY.option(
    name="proxyUsername",
    meaning="The user name for the proxy at `proxyAddress`.",
    parser=text("the name of a user"),
    is_secret=True,
    needs=PROXY_ADDRESS,
)
PROXY_PASSWORD = PROXY.option(
    name="proxyPassword",
    meaning="The password of `proxyUsername`, which it requires.",
    parser=text("the password of a user"),
    is_secret=True,
    needs=PROXY_ADDRESS,
)

PROXY_ALTERNATIVES: Alternatives = (
    (PROXY_URL,),
    (PROXY_ADDRESS, PROXY_PORT, PROXY_USERNAME, PROXY_PASSWORD),
)


def read_proxy(values: Values) -> str | None:
    """
    Return the URL of the proxy, or None if no option names one.

    Raises:
        OptionError: A password has no user, or the options name different proxies.
    """
    url, address, user, password = (
        values[option] for option in (PROXY_URL, PROXY_ADDRESS, PROXY_USERNAME, PROXY_PASSWORD)
    )
    if address is None:
        return url
    if password is not None and user is None:
        raise OptionError(f"{values.label(PROXY_PASSWORD)} also requires '{PROXY_USERNAME.name}'.")
    login = "" if user is None else quote(user, safe="")
    login += "" if password is None else f":{quote(password, safe='')}"
    combined = f"http://{login}{'@' if login else ''}{address}:{values[PROXY_PORT]}"
    if url not in (None, combined):
        raise OptionError(
            f"{values.label(PROXY_URL)} and {values.label(PROXY_ADDRESS)} name different proxies. Keep one of them."
        )
    return combined
