"""A real browser before a real server. Without playwright or Chromium these tests are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.collection.conftest import fresh_postgresql, postgresql

__all__ = ["postgresql"]  # a fixture
PICTURES = Path(__file__).with_name("pictures")
WANTED = ("playwright", "fastapi", "uvicorn", "sqlalchemy", "nh3", "jinja2")
MISSING = [name for name in WANTED if find_spec(name) is None]
if MISSING:
    collect_ignore_glob = ["test_*.py"]  # a browser needs playwright and the extra serve

# The second lets a made platform's page frame a server on this machine.
ARGUMENTS = ("--no-sandbox", "--disable-features=LocalNetworkAccessChecks")

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from tests.browser.serving import Site


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or the one that QROWD_CHROMIUM names."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)  # a busy machine is slow, not wrong

    path = os.environ.get("QROWD_CHROMIUM") or shutil.which("chromium")
    if not path:
        pytest.skip("there is no chromium here")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture
def site(tmp_path: Path, request: Any) -> Iterator[Site]:
    """The campaign of `qrowd serve --try`, served; a parameter is the way of judging."""
    from tests.browser.serving import serve_trial

    with serve_trial(tmp_path, getattr(request, "param", "grades")) as found:
        yield found


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """Where a campaign's database is made: "" is a file; a parameter may say "postgresql"."""
    if getattr(request, "param", "") != "postgresql":
        return ""
    return fresh_postgresql(request.getfixturevalue("postgresql"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Where the pictures of the screens are."""
    found = list(PICTURES.glob("*.png"))
    if found:
        terminalreporter.write_line(f"{len(found)} pictures of screens in {PICTURES}")
