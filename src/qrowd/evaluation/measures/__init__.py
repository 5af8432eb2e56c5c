"""Measures by family: `Measure` says what their methods are."""
