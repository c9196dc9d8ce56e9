"""What bench_groups measures: consumer groups beside `Stream.follow` and beside the KCL. It runs in processes of its own."""
