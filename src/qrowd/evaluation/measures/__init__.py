"""One measure per file."""
