"""The sections of a report, one station of the way per file."""
