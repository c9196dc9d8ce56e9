"""What a run talks to: AWS, or local servers that stand for it in a rehearsal."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import boto3  # type: ignore[import-untyped]
from attrs import asdict, define
from botocore.config import Config

from kinesis_credentials import Profile

_PATIENT = Config(retries={"mode": "standard", "total_max_attempts": 8}, connect_timeout=10, read_timeout=70)
_ONCE = Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=70)


@define(slots=False)  # for the cached property
class Target:
    """Credentials and region are those that botocore finds, unless a profile or a region is given."""

    profile: str | None = None
    region: str | None = None
    kinesis_url: str | None = None
    dynamodb_url: str | None = None
    sts_url: str | None = None

    @cached_property
    def session(self) -> Any:
        return boto3.Session(profile_name=self.profile, region_name=self.region)

    @property
    def region_name(self) -> str:
        """
        The region.

        Raises:
            ValueError: There is none.
        """
        if not self.session.region_name:
            raise ValueError("No region is set. Name one with --region, or set AWS_REGION.")
        return str(self.session.region_name)

    @property
    def is_aws(self) -> bool:
        return self.kinesis_url is None and self.dynamodb_url is None and self.sts_url is None

    def client(self, service: str, *, is_patient: bool = True) -> Any:
        """Return a client of `kinesis`, `dynamodb` or `sts`. An impatient one shows each refusal."""
        url = {"kinesis": self.kinesis_url, "dynamodb": self.dynamodb_url, "sts": self.sts_url}[service]
        config = _PATIENT if is_patient else _ONCE
        return self.session.client(service, self.region_name, endpoint_url=url, config=config)

    def account(self) -> dict[str, str]:
        """Return the account and the ARN of the caller."""
        found = self.client("sts").get_caller_identity()
        return {"account": found["Account"], "arn": found["Arn"]}

    def connection(self) -> dict[str, Any]:
        """Return the arguments with which `Stream.open`, `Producer.open` and `ConsumerGroup.open` reach Kinesis."""
        credentials = None if self.profile is None else Profile(self.profile)
        return {"region": self.region_name, "endpoint_url": self.kinesis_url, "credentials": credentials}

    def options(self) -> dict[str, str]:
        """Return the options with which Spark reaches Kinesis."""
        options = {
            "region": self.region_name,
            "endpointUrl": self.kinesis_url,
            "awsProfile": self.profile,
        }
        return {name: value for name, value in options.items() if value is not None}

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Target:
        return cls(**json.loads(text))
