"""Where workers come from and go back to: one provider, and presets for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qrowd.collection.plan import Platform
from qrowd.collection.platforms.presets import PRESETS
from qrowd.collection.platforms.provider import OUTCOMES, Arrival, Departure, Provider
from qrowd.errors import RuleError

__all__ = ["OUTCOMES", "PRESETS", "Arrival", "Departure", "Provider", "provider_of"]


def provider_of(section: Platform) -> Provider:
    """The provider of a plan: its preset, with what the plan says instead."""
    codes = dict(one.partition("=")[::2] for one in section.codes)
    unknown = sorted(set(codes) - set(OUTCOMES))
    if unknown:
        raise RuleError(
            "bad-value", f"codes: no outcome {unknown[0]!r}; there are {', '.join(OUTCOMES)}"
        )
    given: dict[str, Any] = {"person": section.person, "redirect": section.redirect, "codes": codes}
    given |= {"keep": section.keep, "hosts": section.hosts}
    given |= {"jwks": section.jwks, "audience": section.audience}
    return replace(PRESETS[section.preset], **{key: said for key, said in given.items() if said})
