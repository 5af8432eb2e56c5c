"""From the next batch to its end: what a worker gets, sees, says, and what follows."""
