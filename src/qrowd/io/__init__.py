"""FILE <-> NOUN: one file per format."""
