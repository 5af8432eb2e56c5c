"""Texts cut into sentences, and the main keyword of each: what a game of sentences shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

FEWEST_WORDS = 4  # of a sentence by which anybody can tell what it is about
# a full stop ends a sentence before a blank and a capital, a digit or a quotation mark; ideographic
# stops end one wherever they are; a blank line (after a heading, say) does too
_END = re.compile(
    r"(?<=[.!?…])[\"'”’»)\]]*\s+(?=[\"'“‘«(\[¿¡]*[^\W_a-zà-ÿ])|(?<=[。！？｡])[」』”’）]*\s*|\n\s*\n"
)
_ABBREVIATED = re.compile(
    r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|al|Fig|No|cf|ca|e\.g|i\.e|z\.B|bzw|Nr|Inc|Ltd)\.$"
)
_LONGEST_ABBREVIATION = 8
_WORD = re.compile(r"[^\W\d_](?:[^\W_]|[-'’](?=[^\W_]))+")
# scripts whose words are not set apart by blanks: two characters are a word, so are the next two
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]+")
# of English, German, French, Spanish and Italian
_STOP_WORDS = """
a about above after again against all also am an and any are as at be because been before being
below between both but by can cannot could did do does doing down during each either few for
from further had has have having he her here hers him his how however i if in into is it its
itself just may me might more most much must my neither no nor not now of off on once one only
or other our out over own same she should since so some such than that the their them then there
these they this those through thus to too two under until up upon us very was we were what when
where whether which while who whom whose why will with within without would yet you your yours
aber als auch auf aus bei bis das dass dem den der des die doch ein eine einem einen einer eines
er es für hat haben ich im ist ja kann man mit nach nicht noch nur oder sein sich sie sind über
um und uns vom von vor war waren wenn werden wie wir wird zu zum zur ainsi au aux avec ce ces
cette dans de du elle en est et il ils je la le les leur mais ne nous ou par pas plus pour qu
que qui sa se ses son sont sur un une vous al como con cuando del desde donde el ella entre era
esta este ha hay las lo los más muy o para pero por porque según ser si sin sobre su sus también
una y ya che di e gli nel nella non per più sono
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def sentences(text: str, fewest_words: int = FEWEST_WORDS) -> list[str]:
    """The sentences of a text that have so many words, in order, blanks squeezed.

    >>> sentences("Dr. Ray cut e.g. ice. It melts at 0.5 degrees there! Why?", 2)
    ['Dr. Ray cut e.g. ice.', 'It melts at 0.5 degrees there!']
    """
    found, first = [], 0
    for end in _END.finditer(text):
        before = text[max(first, end.start() - _LONGEST_ABBREVIATION) : end.start()]
        if _ABBREVIATED.search(before) and end.group().count("\n") < 2:
            continue
        found.append(text[first : end.start() + len(end.group().rstrip())])
        first = end.end()
    found.append(text[first:])
    squeezed = (" ".join(sentence.split()) for sentence in found)
    return [sentence for sentence in squeezed if len(words(sentence)) >= fewest_words]


def words(text: str) -> list[str]:
    """The words of a text in small letters; without blanks between words, every two characters."""
    spaced = [word.lower() for word in _WORD.findall(_UNSPACED.sub(" ", text))]
    runs = _UNSPACED.findall(text)
    return spaced + [run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1))]


class Keywords:
    """Which word of a sentence says most about it, against a pool of texts.

    >>> pool = Keywords(["the cat sat on the mat", "a cat and a dog", "the dog sat"])
    >>> pool.of("The cat sat on the mat")
    'mat'
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts, self.having = 0, Counter[str]()
        for text in texts:
            self.texts += 1
            self.having.update(set(words(text)))

    def of(self, sentence: str) -> str:
        """The word with the highest tf-idf that is no stop word, the first of equal ones; or ""."""
        counts = Counter(word for word in words(sentence) if word not in STOP_WORDS)
        if not counts:
            return ""
        return max(counts, key=lambda word: counts[word] * self._rarity(word))

    def _rarity(self, word: str) -> float:
        return 1 + log((1 + self.texts) / (1 + self.having[word]))


def numbered(document: str, parts: Sequence[str]) -> dict[str, str]:
    """Sentences as documents of their own: `doc#1`, `doc#2`, ..."""
    return {f"{document}#{at}": part for at, part in enumerate(parts, 1)}
