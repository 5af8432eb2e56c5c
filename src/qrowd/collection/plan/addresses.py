"""Addresses of people: what can be one, and how it goes over the wire."""

from __future__ import annotations

import re

from qrowd.collection.plan.platforms import is_plain
from qrowd.errors import RuleError

LONGEST = 254
# quotes, brackets, commas and blanks would let an address say more than one place
_LOCAL = re.compile(r"[^\x00-\x20\x7f\s\"(),:;<>@\[\\\]]{1,64}")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# IDNA of 2003, which Python has, makes another domain of these than IDNA of 2008 does
_DIVERGENT = frozenset("ßẞς\u200c\u200d")


def wire_address(text: str) -> str:
    """An address with its domain in ASCII; an error unless it is one.

    A local part that is not ASCII stays: only a server that knows SMTPUTF8 takes it.
    """
    text = text.strip()
    local, at, domain = text.rpartition("@")
    if not at:
        raise RuleError("malformed", f"an address has an @, got {text!r:.80}")
    if _DIVERGENT & set(domain):
        message = f"write the domain of {text!r:.80} as its registrar does: xn--..."
        raise RuleError("malformed", message)
    try:
        domain = domain.encode("idna").decode("ascii").lower()
    except UnicodeError:
        domain = ""
    plain = is_plain(text, LONGEST) and _LOCAL.fullmatch(local) and ".." not in f".{local}."
    if not plain or not all(map(_LABEL.fullmatch, domain.split("."))):
        raise RuleError("malformed", f"{text!r:.80} is no address that mail can be sent to")
    return f"{local}@{domain}"


def same_address(text: str) -> str:
    """What two ways to write an address have in common; for any text."""
    try:
        return wire_address(text).casefold()
    except RuleError:
        return text.strip().casefold()
