"""Where sentences end, and which word is the main one."""

from __future__ import annotations

import pytest

from qrowd.content.sentences import Keywords, numbered, sentences, words

CUT = {
    "One two three four. Five six seven eight!": ["One two three four.", "Five six seven eight!"],
    "Dr. Ray met J. Doe of the U.S. Senate there. Why did he go, then?": [
        "Dr. Ray met J. Doe of the U.S. Senate there.",
        "Why did he go, then?",
    ],
    "It fell by 0.5 points (see Fig. 3 for that). “Not at all bad,” he said.": [
        "It fell by 0.5 points (see Fig. 3 for that).",
        "“Not at all bad,” he said.",
    ],
    "A heading without any stop\n\nThen comes the first sentence": [
        "A heading without any stop",
        "Then comes the first sentence",
    ],
    "今天天气很好。我们去公园吧！": ["今天天气很好。", "我们去公园吧！"],
    "Too short. Das kostet z.B. vier Euro und mehr.": ["Das kostet z.B. vier Euro und mehr."],
    "": [],
    "No. Yes. Well.": [],
}


@pytest.mark.parametrize("text", CUT)
def test_sentences_end_where_they_should(text: str) -> None:
    assert sentences(text) == CUT[text]


def test_the_keyword_is_rare_in_the_pool_and_no_stop_word() -> None:
    pool = Keywords(["the cystic fibrosis gene", "a gene of the mouse", "the mouse and the gene"])
    assert pool.of("The gene of cystic fibrosis in the mouse") == "cystic"
    assert pool.of("It is what it was") == ""
    assert words("Mother-in-law's 3 cats") == ["mother-in-law's", "cats"]


def test_sentences_are_numbered() -> None:
    named = numbered("doc", [f"sentence {at}" for at in range(1, 12)])
    assert (named["doc#3"], named["doc#11"]) == ("sentence 3", "sentence 11")
