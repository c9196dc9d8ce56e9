"""The report: its shape, its text, and what is published of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kinesis_emulator.facts import FACTS
from tools.aws import policy, publishing, report
from tools.aws.findings import Findings, read, scrub
from tools.aws.guard import KINESIS_CALLS
from tools.aws.plan import STEPS
from tools.aws.report import Report, StepReport

GOLDEN = Path(__file__).parents[1] / "golden" / "aws" / "report-1.json"
TIME = {
    "question": "how long a new stream is CREATING",
    "unit": "s",
    "least": 9.0,
    "most": 12.0,
    "samples": 2,
}
MADE = Report(
    made="2026-11-27",
    against=report.AWS,
    region="eu-west-1",
    commit="abc1234",
    seconds=600.0,
    budget_usd=1.5,
    spent_usd=0.51,
    used={"shard_hours": 30},
    steps=(
        StepReport("statuses", "passed", 60.0),
        StepReport(
            "deleted", "failed", 5.0, "", ({"check": "it is so", "holds": False, "detail": "it | is not"},)
        ),
    ),
    facts={
        "stream_creating_s": {**TIME, "value": 10.5, "step": "statuses"},
        "iterator_life_s": {**TIME, "question": "how long", "value": 302.0, "step": "times"},
        "children_listed_after_s": {**TIME, "question": "when", "value": 0.4, "step": "statuses"},
        "codes": {"question": "which codes", "unit": "", "value": {"B": 1, "A": 2}, "step": "deleted"},
    },
    not_asked=({"question": "How coarse is trimming?", "reason": "a day is too short"},),
)


def test_version_1_is_read_as_written() -> None:
    """A report of version 1 stays readable."""
    assert report.read(GOLDEN) == MADE


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The file has the shape of the golden one."""
    as_json, as_markdown = report.write(MADE, tmp_path)
    assert json.loads(as_json.read_text()) == json.loads(GOLDEN.read_text())
    assert as_markdown.read_text().startswith(
        "# A day on AWS\n\n2026-11-27, commit abc1234: 10 minutes against AWS"
    )


@pytest.mark.parametrize(
    ("text", "why"), [("[]", "is not a report"), ("no", "is not"), ('{"version": 2}', "has version 2")]
)
def test_what_is_no_report(tmp_path: Path, text: str, why: str) -> None:
    """Another file, or another version, is refused."""
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=why):
        report.read(path)


def test_the_text_has_everything() -> None:
    """Outcomes, failures, answers and what was not asked are in the text, in tables that hold."""
    text = "\n".join(report.markdown(MADE))
    for part in (
        "Counted cost: $0.51 of $1.50.",
        "| statuses | passed | 60 | it only asks |",
        "| deleted | failed | 5 | 0 of 1 |",
        "* deleted: not so: it is so. it | is not",
        "| how long a new stream is CREATING (`stream_creating_s`) | 10.5 s (9.0 to 12.0, 2 times) | statuses |",
        "| which codes (`codes`) | A: 2, B: 1 | deleted |",
        "| How coarse is trimming? | a day is too short |",
    ):
        assert part in text


def test_the_text_of_a_rehearsal() -> None:
    """It says that nothing in it is AWS's, and that nothing was charged."""
    text = "\n".join(report.markdown(evolve(MADE, against=report.LOCAL)))
    assert "against local servers, so nothing here is AWS's. It would have cost: $0.51 of $1.50." in text


@pytest.mark.parametrize(
    "secret",
    [
        "123456789012",
        "arn:aws:kinesis:eu-west-1:123456789012:stream/orders",
        "kinesis-day-0123456789ab-spark-source",
        "AKIAIOSFODNN7EXAMPLE",
        "https://kinesis.eu-west-1.amazonaws.com",
    ],
)
def test_findings_have_no_names(tmp_path: Path, secret: str) -> None:
    """Account ids, ARNs, names, keys and addresses are taken out of every text before it is written."""
    findings = Findings(tmp_path / "step.jsonl")
    findings.check("it is so", False, f"found {secret} there")
    findings.failed(RuntimeError(f"{secret}: no"))
    findings.not_asked("Why?", f"because of {secret}")
    assert len(read(findings.path)) == 3
    assert secret not in findings.path.read_text()
    plain = "a sentence about 49662 records of shardId-000000000000"
    assert scrub(plain) == plain


def test_a_line_that_a_kill_cut_off(tmp_path: Path) -> None:
    """What a step has found until it is killed is kept."""
    findings = Findings(tmp_path / "step.jsonl")
    findings.check("it is so", True)
    with findings.path.open("a") as file:
        file.write('{"check": "it')
    assert [entry["check"] for entry in read(findings.path)] == ["it is so"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return a page with the section, and a file of facts."""
    page, facts = tmp_path / "reliability.md", tmp_path / "facts.json"
    page.write_text("# Reliability\n\n<!-- aws -->\n\nNothing yet.\n\n<!-- /aws -->\n")
    facts.write_text(json.dumps(FACTS))
    return page, facts


def test_figures_are_published(files: tuple[Path, Path]) -> None:
    """The page gets the report. The emulator's facts get what was measured, and a value that is confirmed stays as documented."""
    page, facts = files
    assert publishing.publish(MADE, lambda _: None, page, facts) == 0
    assert "10 minutes against AWS, eu-west-1" in page.read_text()
    now: dict[str, Any] = json.loads(facts.read_text())
    assert (now["stream_creating_s"]["value"], now["stream_creating_s"]["measured"]) == (
        10.0,
        "2026-11-27, eu-west-1",
    )
    assert (now["hide_children_s"]["value"], now["iterator_life_s"]["value"]) == (0.4, 300.0)
    assert now["stream_deleting_s"] == FACTS["stream_deleting_s"]
    assert now.keys() == FACTS.keys()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (evolve(MADE, against=report.LOCAL), "of local servers"),
        (
            evolve(MADE, not_asked=({"question": "Why?", "reason": "account 123456789012"},)),
            "has an account id",
        ),
    ],
)
def test_what_is_not_published(files: tuple[Path, Path], made: Report, why: str) -> None:
    """A rehearsal is not published, nor a report with an account id. The files stay as they are."""
    before = [path.read_text() for path in files]
    with pytest.raises(ValueError, match=why):
        publishing.publish(made, lambda _: None, *files)
    assert [path.read_text() for path in files] == before


def test_measured_facts_have_names_of_the_emulator() -> None:
    """What a publication renames is a fact that the emulator has."""
    assert set(publishing.NAMES.values()) <= FACTS.keys()


def test_the_policy_allows_only_names_with_the_prefix() -> None:
    """All but two calls without a name are allowed on streams and tables of the kit only, and each call of the guard is in it."""
    *named, nameless = policy.document()["Statement"]
    assert nameless["Action"] == ["dynamodb:ListTables", "kinesis:ListStreams"]
    assert {resource.partition("/")[2] for each in named for resource in each["Resource"]} == {
        "kinesis-day-*"
    }
    actions = {action for each in named for action in each["Action"]}
    assert {f"kinesis:{call}" for call in KINESIS_CALLS} < actions
    assert not any("*" in action for action in actions)


def test_steps_have_limits() -> None:
    """Each step has a name of its own, says what it does, and ends within an hour."""
    assert len({step.name for step in STEPS}) == len(STEPS)
    assert all(step.what and 0 < step.limit_s <= 3600 for step in STEPS)
