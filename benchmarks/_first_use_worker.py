"""Run one command in this process; print its CPU seconds and what each kernel took to compile."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path

from qrowd.cli.main import main as run
from qrowd.kernel import COMPILING


def main() -> None:
    """The command's arguments are this process's; its output goes nowhere."""
    COMPILING.clock = time.process_time
    code: object = 0
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            run(sys.argv[1:])
        except SystemExit as end:
            code = end.code
    print(json.dumps({"code": code, "cpu": time.process_time(), "kernels": COMPILING.by_kernel}))


if __name__ == "__main__":
    main()
