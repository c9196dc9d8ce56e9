"""What checks find, apart from the calls."""

from __future__ import annotations

import pytest

from kinesis_cli.checkup import Finding, status_of, summary
from kinesis_cli.checkup.credentials import describe_source, mask
from kinesis_cli.checkup.findings import Outcome
from kinesis_cli.checkup.stream import clock_finding, limit_findings
from kinesis_cli.ending import Status

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("ahead_s", "outcome", "text"),
    [
        (0, Outcome.OK, "right to within 2 s"),
        (-2, Outcome.OK, "right to within 2 s"),
        (59, Outcome.OK, "this machine is 59.0 s ahead of Kinesis"),
        (-120, Outcome.WARNING, "this machine is 2 min behind Kinesis. AWS refuses calls from 5 min on."),
        (300, Outcome.FAILED, "this machine is 5 min ahead of Kinesis. AWS refuses calls from 5 min on."),
        (-4000, Outcome.FAILED, "this machine is 1 h 6 min behind Kinesis."),
    ],
)
def test_clocks(ahead_s: int, outcome: Outcome, text: str) -> None:
    """A clock that is wrong by five minutes fails: AWS refuses its signatures."""
    finding = clock_finding(NOW_MS, NOW_MS + ahead_s * 1000)
    assert (finding.outcome, finding.text[: len(text)]) == (outcome, text)


@pytest.mark.parametrize(
    ("key_id", "shown"), [("AKIAIOSFODNN7EXAMPLE", "****MPLE"), ("local", "****"), ("", "****")]
)
def test_key_ids_are_masked(key_id: str, shown: str) -> None:
    """The last four characters tell keys apart. A short text may be anything, and is not shown."""
    assert mask(key_id) == shown


def test_sources() -> None:
    """Sources have words; a new source of botocore has its own name."""
    assert describe_source("env") == "environment variables"
    assert describe_source("new-source") == "new-source"


def test_limits() -> None:
    """Nine tenths of a limit are a warning."""
    limits = {
        "ShardLimit": 500,
        "OpenShardCount": 449,
        "OnDemandStreamCount": 45,
        "OnDemandStreamCountLimit": 50,
    }
    first, second = limit_findings(limits)
    assert (first.outcome, first.text) == (Outcome.OK, "449 of 500 shards of the account in use")
    assert second.outcome is Outcome.WARNING
    assert len(list(limit_findings({"ShardLimit": 500, "OpenShardCount": 450}))) == 1


def test_only_failures_set_the_status() -> None:
    """A warning, or a check that could not be made, is no failure."""
    findings = [Finding("a", outcome, "") for outcome in Outcome if outcome is not Outcome.FAILED]
    assert status_of(findings) is Status.DONE
    findings.append(Finding("b", Outcome.FAILED, ""))
    assert status_of(findings) is Status.INCOMPLETE
    assert summary(findings) == "1 ok, 1 warning, 1 failed, 1 not checked"
