"""The states of an assignment, and every way from one to another: one table.

`places`: what happens to its places (kept, freed, held again where the set is open).
`promise`: what happens to the promised pay (kept, released, earned, screen-out pay, or made again
where it was released).
An assignment's answers are pending while it is open, valid (or surplus, by place) once it was
submitted or accepted, void otherwise. The moves from `take back accept` to `reopen finished` undo
what an organiser did (`acts`), which sees to the money.
"""

from __future__ import annotations

from dataclasses import dataclass

ASSIGNMENT_KINDS = ("judge", "qualification", "second", "review", "expert", "machine")
PLACE_KINDS = ("count", "gold", "qualification", "repeat", "second", "review", "expert", "machine")
IMPORTED = ("expert", "machine")  # places whose answers come from files, in several parts perhaps
WORKER_STATES = ("new", "qualified", "failed", "screened-out", "stopped")

OPEN = ("active", "finished")
VALID = ("submitted", "accepted")
VOID = ("returned", "excluded", "screened-out", "refused", "expired")
STATES = (*OPEN, *VALID, *VOID)


@dataclass(frozen=True)
class Move:
    """What one act does to an assignment in one of the states `sources`."""

    act: str
    sources: tuple[str, ...]
    target: str
    places: str = "keep"
    promise: str = "keep"


MOVES = {
    move.act: move
    for move in (
        Move("finish", ("active",), "finished"),
        Move("return", OPEN, "returned", "free", "release"),
        Move("submit", ("finished",), "submitted"),
        Move("accept", ("submitted",), "accepted", "keep", "earn"),
        Move("exclude", VALID, "excluded", "free", "earn"),
        Move("screen out", (*OPEN, "submitted"), "screened-out", "free", "screen out"),
        Move("refuse", ("submitted",), "refused", "free", "keep"),
        Move("restore", ("refused", "excluded", "screened-out"), "accepted", "hold", "earn"),
        Move("take back accept", ("accepted",), "submitted"),
        Move("take back exclude", ("excluded",), "submitted", "hold"),
        Move("refuse again", ("accepted",), "refused", "free"),
        Move("screen out again", ("accepted",), "screened-out", "free"),
        Move("reopen", ("screened-out",), "active", "hold"),
        Move("reopen finished", ("screened-out",), "finished", "hold"),
        Move("expire", ("active",), "expired", "free", "keep"),
        Move("late", ("expired",), "active", "hold", "make"),
        Move("offer again", ("expired",), "active", "hold", "make"),
    )
}

STEPS = sorted({(source, move.target) for move in MOVES.values() for source in move.sources})
