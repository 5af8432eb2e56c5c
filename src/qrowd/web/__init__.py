"""The web application: HTTP over `collection`, and background jobs over the whole library."""
