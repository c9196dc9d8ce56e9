"""The steps of a run, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.aws.kit import Sizes, Step
from tools.aws.prices import Usage, add
from tools.aws.steps import contract, jobs, questions, service

MINUTE_S = 60.0
STEPS = (
    Step(
        "statuses",
        "creates, splits, merges and deletes streams: how long do statuses last, how late are listings?",
        15 * MINUTE_S,
        questions.statuses_usage,
        questions.run_statuses,
    ),
    Step(
        "deleted",
        "what do iterators of a deleted stream answer, and of one that was created again?",
        10 * MINUTE_S,
        questions.deleted_usage,
        questions.run_deleted,
    ),
    Step(
        "spark",
        "a Spark query and the sink, through a split, a merge and a restart",
        15 * MINUTE_S,
        jobs.spark_usage,
        jobs.run_spark,
    ),
    Step(
        "group",
        "a consumer group with leases in DynamoDB, through a split and a merge",
        15 * MINUTE_S,
        jobs.group_usage,
        jobs.run_group,
    ),
    Step(
        "throttles",
        "writes and reads faster than a shard allows",
        10 * MINUTE_S,
        service.throttles_usage,
        service.run_throttles,
    ),
    Step(
        "fan-out",
        "reads by enhanced fan-out over HTTP/1.1 and HTTP/2",
        10 * MINUTE_S,
        service.fan_out_usage,
        service.run_fan_out,
    ),
    Step(
        "dry-run",
        "DryRun of each call that has it, and the permission checks",
        10 * MINUTE_S,
        service.dry_run_usage,
        service.run_dry_run,
    ),
    Step(
        "auto",
        "an on-demand stream whose record distribution becomes AUTO",
        10 * MINUTE_S,
        service.auto_usage,
        service.run_auto,
    ),
    Step("large", "records of 10 MiB", 10 * MINUTE_S, service.large_usage, service.run_large),
    Step(
        "times",
        "starts ahead of the clock and before the retention; the life of an iterator",
        15 * MINUTE_S,
        questions.times_usage,
        questions.run_times,
    ),
    Step(
        "trimming",
        "what a day shows of trimming",
        5 * MINUTE_S,
        questions.trimming_usage,
        questions.run_trimming,
    ),
    Step(
        "contract",
        "the suite of behaviours that the local Kinesis passes",
        60 * MINUTE_S,
        contract.usage,
        contract.run,
    ),
)
"""The most costly one is last, so that a small budget is enough for the others."""


class UnknownStepError(ValueError):
    """A step that does not exist was named."""


def choose(names: Sequence[str]) -> tuple[Step, ...]:
    """Return the named steps in the order of a run; all of them without a name."""
    unknown = sorted(set(names) - {step.name for step in STEPS})
    if unknown:
        known = ", ".join(step.name for step in STEPS)
        raise UnknownStepError(f"There is no step {', '.join(unknown)}. The steps are {known}.")
    return tuple(step for step in STEPS if not names or step.name in names)


def planned(steps: Iterable[Step], sizes: Sizes) -> Usage:
    """Return what the steps use together."""
    return add(*(step.usage(sizes) for step in steps))
