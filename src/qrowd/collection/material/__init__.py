"""Topics, documents and sets of a running campaign."""
