"""What a stream is made of: shards, cuts, ranges, offsets and records. Values only; nothing here calls anybody."""
