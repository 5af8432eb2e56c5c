"""Benchmarks beside the peers, as ratios in one run."""
