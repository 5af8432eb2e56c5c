"""NUMBERS: a ranking and relevance make a number."""
