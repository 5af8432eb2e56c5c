"""`python -m qrowd`: the command line."""

from __future__ import annotations

from qrowd.cli.main import main

if __name__ == "__main__":
    main()
