"""The pictures of the documentation, made again by the commands of the gallery.

    python docs/pictures.py            make them all: those of gallery.md, of README, of notebooks
    python docs/pictures.py --stale    list those whose sources have changed since they were made

Every command on `docs/gallery.md` is run in an empty folder; pictures that the page shows are kept.
Pages are photographed by Chromium (Debian's, or the one that QROWD_CHROMIUM names). Beside them,
`pictures/sources.json` has the hashes of what drew them: the page's commands, and `SOURCES`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "gallery.md"
KNOWN = DOCS / "pictures" / "sources.json"
#: what draws which pictures; of the texts on pages, those that change every day are left out
SOURCES = {
    "pictures": (
        "src/qrowd/reporting/drawing.py",
        "src/qrowd/reporting/*figures.py",
        "src/qrowd/experiments/effects.py",
    ),
    "report.png": (
        "src/qrowd/reporting/re*.py",
        "src/qrowd/reporting/verdicts.py",
        "src/qrowd/reporting/sections/*.py",
        "src/qrowd/reporting/templates/*",
    ),
    "judging.png": (
        "src/qrowd/web/templates/page.html.j2",
        "src/qrowd/web/templates/judging.html.j2",
        "src/qrowd/web/static/qrowd.css",
        "src/qrowd/web/static/judge.js",
        "src/qrowd/web/static/reader.js",
        "src/qrowd/web/static/ways/grades.js",
    ),
}


def main() -> int:
    """Make the pictures, or list those that are older than what they show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--stale", action="store_true", help="only list what should be made again")
    if parser.parse_args().stale:
        lines = list(stale())
        print("\n".join(lines) or "every picture is as new as what it shows")
        return int(bool(lines))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_commands(folder)
        shutil.rmtree(DOCS / "pictures", ignore_errors=True)
        for name in shown():
            if name.endswith(".svg"):
                (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / name, DOCS / name)
        photograph(folder)
    KNOWN.write_text(json.dumps(sources(), indent=1) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, str(DOCS / "notebooks.py")], check=True)
    return 0


def blocks() -> Iterator[tuple[str, str]]:
    """The page's blocks of code, with the language of each."""
    text = PAGE.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(sh|toml)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield match[1], match[2]


def commands() -> list[list[str]]:
    """The page's commands, without `qrowd`; a server would not end."""
    lines = "".join(text for language, text in blocks() if language == "sh").splitlines()
    return [shlex.split(line)[1:] for line in lines if "qrowd serve" not in line]


def shown() -> list[str]:
    """The pictures on the page."""
    return re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))


def run_commands(folder: Path) -> None:
    """Type the page's commands in this folder; a file is a block that begins with its name."""
    for language, text in blocks():
        if language == "toml":
            (folder / text.split("\n", 1)[0].removeprefix("# ")).write_text(text, "utf-8")
    for command in commands():
        print("qrowd", shlex.join(command), flush=True)
        typed = [sys.executable, "-m", "qrowd", *command]
        subprocess.run(typed, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def photograph(folder: Path) -> None:
    """The first screen of the report, and the judging page with a document."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, str(ROOT))
    from tests.browser.serving import serve_trial
    from tests.browser.walking import start

    chromium = os.environ.get("QROWD_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright, serve_trial(folder / "trial") as site:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto((folder / "report.html").as_uri())
        page.screenshot(path=DOCS / "report.png")
        start(page, site.link)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=DOCS / "judging.png")
        browser.close()
    for name in ("report.png", "judging.png"):  # few colours, a third of the size
        with Image.open(DOCS / name) as picture:
            few = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        few.save(DOCS / name, optimize=True)


def sources() -> dict[str, dict[str, str]]:
    """What each kind of picture was made from, with hashes."""
    typed = {"commands": _hash("\n".join(map(shlex.join, commands())).encode())}
    return {
        kind: typed
        | {
            str(path.relative_to(ROOT)): _hash(path.read_bytes())
            for pattern in patterns
            for path in sorted(ROOT.glob(pattern))
        }
        for kind, patterns in SOURCES.items()
    }


def stale() -> Iterator[str]:
    """Kinds of pictures that were made from other sources than there are, with the first such."""
    known = json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {}
    for kind, now in sources().items():
        before = known.get(kind, {})
        changed = sorted(name for name in now.keys() | before if now.get(name) != before.get(name))
        if changed:
            yield f"{kind}: {', '.join(changed)}"


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
