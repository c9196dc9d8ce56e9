"""A conformance suite of Kinesis Data Streams that is data, and its runner. README.md describes the form of the data."""
