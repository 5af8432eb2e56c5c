"""Run the benchmarks: `python -m benchmarks [NAME ...] [--short]`; without names, all of them.

`--stale` runs none: it lists stored results whose sources have changed since.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import subprocess
import sys
import time

import benchmarks
from benchmarks import _results
from benchmarks._benchmark import IN_PART, SKIPPED
from benchmarks._measure import ONE_THREAD


def main() -> int:
    """Run each in a process of its own, so that one that fails does not stop the others."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--short", action="store_true", help="each in its smallest form")
    parser.add_argument("--stale", action="store_true", help="list stored results to make again")
    given = parser.parse_args()
    if given.stale:
        lines = list(_results.stale())
        print("\n".join([*lines, f"{len(lines)} stored results to make again"]))
        return 0
    modules = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    names = [name for name in modules if not name.startswith("_")]
    unknown = [name for name in given.names if name not in names]
    if unknown:
        print(f"no benchmark {' '.join(unknown)}; there are: {' '.join(names)}", file=sys.stderr)
        return 2
    ran, skipped, failed = [], [], []
    for name in given.names or names:
        print(f"\n## {name}", flush=True)
        began = time.monotonic()
        code, reason = _run(name, given.short)
        print(f"\n({name}: {time.monotonic() - began:.0f} s)", flush=True)
        if code:
            failed.append(name)
        elif reason:
            skipped.append(f"{name} {reason}")
        else:
            ran.append(name)
    print(f"\n{len(ran)} ran, {_counted(skipped, 'skipped')}, {_counted(failed, 'failed')}")
    return 1 if failed else 0


def _run(name: str, short: bool) -> tuple[int, str]:
    """Its exit code, and what it skipped."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *["--short"] * short]
    # several threads that wait for each other would make short forms long on a busy machine
    environment = os.environ | ONE_THREAD if short else None
    reason = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith((SKIPPED, IN_PART)):
                reason = line.strip().removeprefix("skipped").strip()
    return process.returncode, reason


def _counted(reasons: list[str], what: str) -> str:
    return f"{len(reasons)} {what}" + (f" ({'; '.join(reasons)})" if reasons else "")


if __name__ == "__main__":
    sys.exit(main())
