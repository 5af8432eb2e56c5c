"""Everything qrowd raises and warns of.

QrowdError                   the base: catch this to catch all
├── UsageError               misuse; the command line exits with 2
│   ├── ParameterError       a parameter's value is not allowed
│   ├── UnknownNameError     no method, measure, rule or name like this
│   └── MissingExtraError    an optional dependency is not installed
├── InputError               bad data; the command line exits with 1
│   ├── FormatError          a file cannot be read as what it should be
│   ├── ScaleError           grades of two things do not fit together
│   └── StoreError           a campaign's database cannot be used
└── RuleError                a rule of a campaign says no; its `code` names the rule

QrowdWarning
├── NotConvergedWarning      a fit stopped before it settled
└── DataWarning              the data are usable but somebody should know
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Self


class QrowdError(Exception):
    """The base of every error that qrowd raises on purpose."""

    exit_code = 1


class UsageError(QrowdError):
    """The call itself is wrong, whatever the data."""

    exit_code = 2


class ParameterError(UsageError):
    """A parameter's value is not allowed."""


def require_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Refuse a parameter's value that is none of its choices."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


class UnknownNameError(UsageError):
    """A name that nobody registered; says what was perhaps meant."""

    @classmethod
    def among(cls, kind: str, name: str, names: Iterable[str], others: Iterable[str] = ()) -> Self:
        """The error for `name`, one of `names` being expected; `others` may be meant, too."""
        listed = sorted(names)
        # names that differ by case are close
        folded = {candidate.lower(): candidate for candidate in (*listed, *others)}
        near = 0.5 if len(name) < 4 else 0.65  # one letter of two may be wrong
        matches = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=near)
        close = " or ".join(folded[match] for match in matches)
        hint = f"did you mean {close}?" if close else f"known: {', '.join(listed)}"
        return cls(f"no {kind} {name!r}; {hint}")


def require_name(noun: str, name: str, names: Collection[str]) -> None:
    """Refuse a name that is none of these; the error says which was perhaps meant."""
    if name not in names:
        raise UnknownNameError.among(noun, name, names)


class MissingExtraError(UsageError):
    """An optional dependency is not installed; says how to install it."""

    @classmethod
    def needed(cls, part: str, extra: str) -> Self:
        """The error for a part of qrowd that comes with the extra named `extra`."""
        return cls(f"{part} needs an optional part; install it with: pip install 'qrowd[{extra}]'")


class InputError(QrowdError):
    """Bad data. Carries the file and the line, or the row of a table, where they are known."""

    def __init__(self, message: str, *, file: str = "", line: int = 0, row: int = -1) -> None:
        self.message, self.file, self.line, self.row = message, file, line, row
        position = file + (f":{line}" if line else "")
        super().__init__(f"{position}: {message}" if position else message)

    def at(self, file: str, line: int = 0) -> Self:
        """The same error, placed in a file."""
        return type(self)(self.message, file=file, line=line, row=self.row)


class FormatError(InputError):
    """A file cannot be read as what it should be."""


class ScaleError(InputError):
    """Grades of two things do not fit together."""


class StoreError(InputError):
    """A campaign's database cannot be opened, read or written."""


class RuleError(QrowdError):
    """A rule of a campaign says no. `code` is a short name of why, for programs."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class QrowdWarning(UserWarning):
    """The base of qrowd's warnings."""


class NotConvergedWarning(QrowdWarning):
    """A fit stopped at its last allowed iteration before it settled."""


class DataWarning(QrowdWarning):
    """The data can be used, but somebody should know this about them."""
