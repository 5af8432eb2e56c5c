"""Experts and objections: blind first, then votes, then a decision."""
