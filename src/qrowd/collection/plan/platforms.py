"""Platforms that send workers: which address parameter is the person, and the way back."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from qrowd.collection.plan.sections import Platform
from qrowd.errors import RuleError, UsageError

OUTCOMES = ("completed", "failed", "screened-out", "no-work")
LONGEST = 400
_CONTROLS = ("Cc", "Cs", "Zl", "Zp")  # characters that are none: control, half, line ends
_TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # of the writing's direction


def is_plain(text: str, longest: int = LONGEST) -> bool:
    """Whether a text is short enough to be an id or a login, and shows all that it holds."""
    odd = (unicodedata.category(sign) in _CONTROLS or sign in _TURNS for sign in text)
    return len(text) <= longest and not any(odd)


@dataclass(frozen=True)
class Arrival:
    """A visit from a platform: who, what to keep of the address, whether it is only a look."""

    platform: str
    person: str
    kept: Mapping[str, str]
    preview: bool = False


@dataclass(frozen=True)
class Departure:
    """The way back: an address to go to, or a form to post; `code` is shown where neither is."""

    code: str
    address: str = ""
    form: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Provider:
    """How workers of one platform come and go.

    `redirect` may hold {code} {worker} {session} {study}; `worker`, `session`, `study` name the
    kept parameters behind them. With `submit_to`, the browser posts a form to the host which that
    parameter names, if it is one of `hosts`. With `jwks` (a file with public keys), a visit must
    bring a signed token for `audience`, and its claims are the parameters. `shapes` are patterns
    of what a platform without signatures sends.
    """

    name: str
    person: str = "worker"
    keep: tuple[str, ...] = ()
    redirect: str = ""
    codes: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    session: str = ""
    study: str = ""
    preview: tuple[str, str] = ("", "")
    submit_to: str = ""
    submit_path: str = ""
    jwks: str = ""
    audience: str = ""
    places: int = 0
    shapes: Mapping[str, str] = field(default_factory=dict)

    def arrive(self, parameters: Mapping[str, str]) -> Arrival:
        """Who comes, from the parameters of the address."""
        values = self._verified(parameters) if self.jwks else dict(parameters)
        person = values.get(self.person, "")
        kept = {name: values[name] for name in self.keep if values.get(name)}
        for name, value in {**kept, self.person: person}.items():
            if not is_plain(value):
                raise RuleError("bad-value", f"the address's {name} is too long or not plain text")
        name, sign = self.preview
        if name and values.get(name) == sign:
            return Arrival(self.name, "", kept, preview=True)
        if not person:
            raise RuleError(
                "no-sign-in", "please open this page from the place where you found the work"
            )
        return Arrival(self.name, person, kept)

    def refuse_odd(self, arrival: Arrival) -> None:
        """An error where ids do not look like the platform's: somebody has made them up."""
        values = {**arrival.kept, self.person: arrival.person}
        for name, shape in self.shapes.items():
            if not re.fullmatch(shape, values.get(name, "")):
                raise RuleError("wrong-address", "this address was not made by the platform")

    def leave(self, outcome: str, code: str, arrival: Arrival) -> Departure:
        """The way back after `outcome`; `code` is used where the plan has none for it."""
        code = self.codes.get(outcome, code)
        if self.submit_to:
            return Departure(code, self._submit_address(arrival), {**arrival.kept, "code": code})
        if not self.redirect:
            return Departure(code)
        words = {
            "code": code,
            "worker": arrival.person,
            "session": arrival.kept.get(self.session, ""),
            "study": arrival.kept.get(self.study, ""),
        }
        safe = {name: quote(word, safe="") for name, word in words.items()}
        return Departure(code, self.redirect.format(**safe))

    def _submit_address(self, arrival: Arrival) -> str:
        """Where the form goes: only to hosts that are listed, by https."""
        address = urlsplit(arrival.kept.get(self.submit_to, ""))
        host = address.hostname
        if address.scheme != "https" or host not in self.hosts or address.port:
            raise RuleError("no-access", f"{host or 'this address'} is not a host to send work to")
        return f"https://{host}{self.submit_path}"

    def _verified(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """The claims of the signed token that a visit must bring."""
        import jwt

        try:
            sent = parameters.get("token", "")
            key = _key_of(self.jwks, str(jwt.get_unverified_header(sent).get("kid", "")))
            claims = jwt.decode(
                sent,
                key,
                algorithms=["RS256"],
                audience=self.audience,
                options={"require": ["exp", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise RuleError("expired-link", "this link has ended; please open it again") from None
        except jwt.PyJWTError:
            raise RuleError("no-sign-in", "this link was not signed by the platform") from None
        return {name: str(value) for name, value in claims.items() if isinstance(value, str | int)}


def _key_of(path: str, number: str) -> Any:
    """The public key with this number, from a JWKS document."""
    import jwt

    try:
        listed = json.loads(Path(path).read_text(encoding="utf-8"))["keys"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not a JWKS document ({error}); save the platform's") from None
    for key in listed:
        if key.get("kid", "") == number:
            return jwt.PyJWK(key).key
    raise RuleError("no-sign-in", "this link was signed by a key that is not known here")


_PROLIFIC_ID = "[0-9a-f]{24}"
_MTURK_ID = "[0-9A-Z]{20,40}"
PRESETS = {
    provider.name: provider
    for provider in (
        Provider("own", person="worker"),
        Provider("generic", person="worker"),
        Provider(
            "prolific",
            person="PROLIFIC_PID",
            keep=("STUDY_ID", "SESSION_ID"),
            redirect="https://app.prolific.com/submissions/complete?cc={code}",
            session="SESSION_ID",
            study="STUDY_ID",
            shapes=dict.fromkeys(("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"), _PROLIFIC_ID),
        ),
        Provider(
            "mturk",
            person="workerId",
            keep=("assignmentId", "hitId", "turkSubmitTo"),
            hosts=("www.mturk.com", "workersandbox.mturk.com"),
            session="assignmentId",
            study="hitId",
            preview=("assignmentId", "ASSIGNMENT_ID_NOT_AVAILABLE"),
            submit_to="turkSubmitTo",
            submit_path="/mturk/externalSubmit",
            shapes={"workerId": "A[0-9A-Z]{7,20}", "hitId": _MTURK_ID, "assignmentId": _MTURK_ID},
        ),
    )
}

#: what Prolific calls things that its public documentation was not seen to name
PROLIFIC_NAMES = {
    "code.failed": "FAILED_CHECK",  # types of completion codes, by outcome
    "code.screened-out": "SCREENED_OUT",
    "code.no-work": "OTHER",
    "return": "RETURN",  # the transition by which somebody is asked to return a submission
    "account": "users/me/",
    "account.currency": "currency_code",
    "study.currency": "presentment_currency_code",
    "studies": "studies/",
    "submissions": "studies/{study}/submissions/",
    "submission.participant": "participant_id",
    "submission.bonuses": "bonus_payments",
    "payment.amount": "amount",
    "event.submission": "resource_id",
    "event.state": "status",
    "event.participant": "participant_id",
    "event.study": "study_id",
}


def prolific_names(changed: Sequence[str]) -> dict[str, str]:
    """What Prolific calls things, with what a plan says instead, as ours=theirs."""
    given = {name: theirs for name, _, theirs in (text.partition("=") for text in changed)}
    for name, theirs in given.items():
        if name not in PROLIFIC_NAMES or not theirs:
            known = ", ".join(PROLIFIC_NAMES)
            raise RuleError("bad-value", f"{name!r} is none of {known}, or has no name there")
    return PROLIFIC_NAMES | given


def provider_of(section: Platform) -> Provider:
    """The provider of a plan: its preset, with what the plan says instead."""
    codes = dict(code.partition("=")[::2] for code in section.codes)
    unknown = sorted(set(codes) - set(OUTCOMES))
    if unknown:
        message = f"codes: no outcome {unknown[0]!r}; there are {', '.join(OUTCOMES)}"
        raise RuleError("bad-value", message)
    changes = vars(section) | {"codes": codes, "shapes": {}}
    del changes["preset"]
    changed = {name: value for name, value in changes.items() if value}
    preset = PRESETS[section.preset]
    provider = replace(preset, **changed)
    # the person's shape is that of the preset, also under another name
    usual = {
        provider.person if key == preset.person else key: preset.shapes[key]
        for key in preset.shapes
    }
    own = dict(shape.partition("=")[::2] for shape in section.shapes)
    keep = tuple(dict.fromkeys((*provider.keep, *(own.keys() - {provider.person}))))
    shapes = {
        name: shape for name, shape in {**usual, **own}.items() if name in (provider.person, *keep)
    }
    return replace(provider, keep=keep, shapes=shapes)
