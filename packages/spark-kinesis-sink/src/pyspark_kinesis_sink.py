"""Lets Spark find the data source by itself."""
