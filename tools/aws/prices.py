"""What a run costs: the prices of AWS, and the units that a run uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

Usage = Mapping[str, float]
"""Amounts by the name of a price."""
GB = 1024**3
PUT_UNIT_BYTES = 25 * 1024
KINESIS_PAGE = "https://aws.amazon.com/kinesis/data-streams/pricing/"
DYNAMODB_PAGE = "https://aws.amazon.com/dynamodb/pricing/on-demand/"
AS_OF = "November 2026"
"""
When the prices below were written down, for the regions of `CHEAPEST`. They were not compared with AWS's pages, which have those of
the day.
"""
CHEAPEST = ("us-east-1", "us-east-2", "us-west-2")
ELSEWHERE = 1.5
"""Prices of other regions are taken as this much higher. Most are 10 to 30 % higher."""


@frozen
class Price:
    unit: str
    usd: float
    per: float
    page: str

    def of(self, amount: float) -> float:
        return amount * self.usd / self.per


PRICES = {
    "shard_hours": Price("shard hours, each begun hour", 0.015, 1, KINESIS_PAGE),
    "put_units": Price("PUT payload units of 25 KB", 0.014, 1_000_000, KINESIS_PAGE),
    "fan_out_shard_hours": Price("fan-out: consumer-shard hours", 0.015, 1, KINESIS_PAGE),
    "fan_out_gb": Price("fan-out: GB read", 0.013, 1, KINESIS_PAGE),
    "on_demand_hours": Price("on-demand stream hours, each begun hour", 0.04, 1, KINESIS_PAGE),
    "on_demand_gb_in": Price("on-demand GB written", 0.08, 1, KINESIS_PAGE),
    "on_demand_gb_out": Price("on-demand GB read", 0.04, 1, KINESIS_PAGE),
    "table_writes": Price("DynamoDB write units", 0.625, 1_000_000, DYNAMODB_PAGE),
    "table_reads": Price("DynamoDB read units", 0.125, 1_000_000, DYNAMODB_PAGE),
}


def factor(region: str) -> float:
    return 1.0 if region in CHEAPEST else ELSEWHERE


def cost(usage: Usage, region: str) -> float:
    """Return what *usage* costs, in US dollars."""
    return factor(region) * sum(PRICES[name].of(amount) for name, amount in usage.items())


def add(*usages: Usage) -> dict[str, float]:
    total: dict[str, float] = {}
    for usage in usages:
        for name, amount in usage.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def put_units(size_bytes: int, records: int = 1) -> int:
    """Return the units of *records* records of that size. A record takes one at least."""
    return records * max(1, -(-size_bytes // PUT_UNIT_BYTES))


def table(usage: Usage, region: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield what is used: the unit, the amount, the price of the unit and the cost."""
    for name, amount in usage.items():
        price = PRICES[name]
        per = "" if price.per == 1 else f" / {price.per:,.0f}"
        usd = price.usd * factor(region)
        yield (
            price.unit,
            f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}",
            f"${usd:.4g}{per}",
            f"${cost({name: amount}, region):.4f}",
        )
