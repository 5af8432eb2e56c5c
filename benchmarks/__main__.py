"""Run the benchmarks: `python -m benchmarks` all of them, `python -m benchmarks merging` one."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(wanted: list[str]) -> int:
    """Run each module that has a `main`; a failing one does not stop the others."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        print(f"no benchmark {' '.join(unknown)}; there are: {' '.join(names)}", file=sys.stderr)
        return 2
    failed = [name for name in wanted or names if not _ran(name)]
    if failed:
        print(f"failed: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _ran(name: str) -> bool:
    if name.startswith("_"):
        return True
    module = importlib.import_module(f"benchmarks.{name}")
    if not hasattr(module, "main"):
        return True
    print(f"\n## {name}\n", flush=True)
    try:
        module.main()
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
