"""Where a batch ends: the driver's part. It finds each shard's end, fixes it at a real record, and notices lost data."""
