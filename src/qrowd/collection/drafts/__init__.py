"""The wizard: a plan that is being made, step by step, up to launch."""
