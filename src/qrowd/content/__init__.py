"""Text: what documents have in common, and whether relevance follows it."""
