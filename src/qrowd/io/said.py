"""Warnings that point at the line of the user's own code."""

from __future__ import annotations

import sys
import warnings

from qrowd.errors import DataWarning


def say(message: str) -> None:
    """Warn that data are usable, but that somebody should know this about them."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("qrowd."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DataWarning, level)
