from __future__ import annotations

import re
from pathlib import Path

from qrowd.io.roles import SYNONYMS

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_the_page_lists_every_synonym() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`.*`) \|$", PAGE.read_text(), flags=re.M)
    listed = {name: {name, *re.findall(r"`(\w+)`", others)} for name, others in rows}
    known = {name: set(words.split()) for name, words in SYNONYMS.items()}
    assert listed == {name: words for name, words in known.items() if len(words) > 1}
