"""A server over a small campaign."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.collection.conftest import postgresql as postgresql
from tests.collection.conftest import typed_rows as typed_rows
from tests.collection.conftest import url as url

if find_spec("fastapi") is None or find_spec("sqlalchemy") is None or find_spec("httpx") is None:
    collect_ignore_glob = ["test_*.py"]  # the web application needs the extra serve

if TYPE_CHECKING:
    from tests.web.serving import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running campaign behind the application."""
    from tests.web.serving import make_server

    with make_server(tmp_path) as made:
        yield made
