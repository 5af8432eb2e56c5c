"""Measure-level methods, one paper per file: Scores in, Scores out."""
