"""Orders to a worth for every document: one paper per file."""
