"""Pages as Arrow record batches. The only folder of the core that needs pyarrow."""
