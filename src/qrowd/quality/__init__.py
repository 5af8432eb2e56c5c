"""DOUBT: how far assessors agree, with gold and with each other; whom to leave out, and why."""
