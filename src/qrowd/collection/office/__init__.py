"""What an organiser decides: acts with their consequences, what is due, where it goes."""
