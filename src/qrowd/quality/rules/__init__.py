"""Reasons to doubt an assessor, one per file: values that hold no data."""
