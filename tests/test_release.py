"""What is released: every file is in it, and one place says its version.

`make core-tests` installs the wheel and runs the sdist's tests with it, without the checkout.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from tests.test_tree import ROOT, committed

import qrowd

VERSION = "src/qrowd/__init__.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was made from it."""
    for needed in ("build", "hatchling"):
        pytest.importorskip(needed, reason="a release is built by those who develop qrowd")
    folder = tmp_path_factory.mktemp("release")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_the_sdist_has_every_committed_file(made: Path) -> None:
    (path,) = made.glob("*.tar.gz")
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {str(path.relative_to(ROOT)) for path in committed()} <= names
    assert not [name for name in names if ".venv" in name or "__pycache__" in name]


def test_the_wheel_has_every_file_of_the_package(made: Path) -> None:
    package = ROOT / "src" / "qrowd"
    of_package = {
        str(path.relative_to(ROOT / "src")) for path in committed() if package in path.parents
    }
    with zipfile.ZipFile(next(made.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(wheel.read(about))
    assert of_package <= names
    others = {name.partition("/")[0] for name in names - of_package}
    assert others <= {f"qrowd-{qrowd.__version__}.dist-info", "qrowd"}
    assert metadata["Version"] == qrowd.__version__
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_version_is_written_in_one_place() -> None:
    """Elsewhere it is read from there; CITATION.cff, which programs read as it is, repeats it."""
    said = re.compile(rf"(?<![\w.]){re.escape(qrowd.__version__)}(?![\w.])")
    shown = re.compile(
        r"^```text$.*?^```$", re.DOTALL | re.MULTILINE
    )  # what a program printed once
    found = {
        str(path.relative_to(ROOT))
        for path in committed()
        if path.suffix in {".py", ".toml", ".md", ".cff", ".json", ".j2", ".js", ".yml"}
        and path.name != "CHANGELOG.md"
        and said.search(shown.sub("", path.read_text(encoding="utf-8")))
    }
    assert found == {VERSION, "CITATION.cff"}
    cited = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited == [qrowd.__version__]


def test_the_papers_are_cited() -> None:
    """Those that the documentation goes through item by item, by their first authors and years."""
    (page,) = (ROOT / "docs").rglob("papers.md")
    headings = re.findall(r"^## (\w+).* (\d{4}): ", page.read_text("utf-8"), re.MULTILINE)
    assert len(headings) == 5
    _, *cited = (ROOT / "CITATION.cff").read_text("utf-8").split("\n  - type: ")
    first = [re.search(r"family-names: (\w+)", each) for each in cited]
    years = [re.search(r"^ {4}year: (\d{4})$", each, re.MULTILINE) for each in cited]
    assert [(a[1], b[1]) for a, b in zip(first, years, strict=True) if a and b] == headings
