"""Where leases are kept: a table of items with conditional writes, in a file, in DynamoDB or in memory."""

from kinesis_consumer.stores.dynamodb import DynamoTable
from kinesis_consumer.stores.memory import MemoryTable
from kinesis_consumer.stores.sqlite import SqliteTable
from kinesis_consumer.stores.table import ItemTable, Update

__all__ = [
    "DynamoTable",
    "ItemTable",
    "MemoryTable",
    "SqliteTable",
    "Update",
]
