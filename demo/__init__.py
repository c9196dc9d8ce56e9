"""The demo: a stream, a producer and two Spark queries on one machine, and a check that no record is lost."""
