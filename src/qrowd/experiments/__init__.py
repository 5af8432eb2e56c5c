"""Experiments: a grid of approaches, panels, topic sets, measures and run sets, from a plan."""
