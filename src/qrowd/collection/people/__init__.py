"""Who is who: workers, how they come and go, what they must know of a topic."""
