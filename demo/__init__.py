"""The demo: a stream, a producer and a Spark query on one machine, and the proof that they agree."""
