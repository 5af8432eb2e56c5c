"""What is counted: money, notices, progress."""
