"""What was done, by whom, and how it is undone."""
