"""What was asked for, before anything is stored: the plan, its files, what they come to."""
