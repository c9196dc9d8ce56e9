"""What programs must be told so that they call an emulator instead of AWS."""

from __future__ import annotations

KEY = "local"
"""Any credentials are accepted."""
_TRUST = ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""The variables that name a certificate to trust: of most clients of AWS, and of Node."""


def spark_options(endpoint_url: str, region: str) -> dict[str, str]:
    """Return the options of `.format("kinesis")`."""
    return {"endpointUrl": endpoint_url, "region": region, "awsAccessKeyId": KEY, "awsSecretKey": KEY}


def environment(endpoint_url: str, region: str, certificate: str | None = None) -> dict[str, str]:
    """Return the environment variables for boto3, the AWS CLI and other clients of AWS, with the *certificate* to trust."""
    return {
        "AWS_ENDPOINT_URL_KINESIS": endpoint_url,
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": KEY,
        **({} if certificate is None else dict.fromkeys(_TRUST, certificate)),
    }
