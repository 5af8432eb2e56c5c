"""Pages, one module per screen."""
