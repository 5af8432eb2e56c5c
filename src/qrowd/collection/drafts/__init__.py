"""The wizard: a plan that is being made, question by question, up to launch."""
