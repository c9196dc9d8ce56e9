"""The KCL's lease table: what a lease is, the table in DynamoDB, and who writes a stream's progress to it."""
