"""Newton's method for many parameters: directions by conjugate gradients, never uphill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from qrowd.data.arrays import Floats

_SUFFICIENT = 1e-4
_HALVINGS = 40
_ROUNDING = 1e-10
_TURNS = 250


class Valley(Protocol):
    """A function to be minimised."""

    def value(self, at: Floats) -> float:
        """Its value."""
        ...

    def slope(self, at: Floats) -> tuple[Floats, Callable[[Floats], Floats], Floats]:
        """Its gradient, its Hessian as a product with a vector, and a positive diagonal like the
        Hessian's.
        """
        ...


def downhill(valley: Valley, at: Floats, tol: float) -> tuple[Floats, bool]:
    """One step of Newton's method, and whether there was nothing to gain: no parameter that would
    move by more than `tol` on its own, or no step that lowers the value by more than rounding.
    """
    gradient, product, diagonal = valley.slope(at)
    largest = float(np.abs(gradient / diagonal).max(initial=0.0))
    if largest <= tol:
        return at, True
    step = _direction(gradient, product, diagonal, min(0.1, largest**0.5))
    before, fall, size = valley.value(at), float(gradient @ step), 1.0
    if -fall <= _ROUNDING * (1 + abs(before)):
        return _by_gradient(valley, at, step, largest)
    for _ in range(_HALVINGS):
        if valley.value(at + size * step) <= before + _SUFFICIENT * size * fall:
            return at + size * step, False
        size /= 2
    return at, True


def _by_gradient(valley: Valley, at: Floats, step: Floats, largest: float) -> tuple[Floats, bool]:
    """Near the bottom values differ by rounding only: the gradient says which point is lower."""
    gradient, _, diagonal = valley.slope(at + step)
    after = float(np.abs(gradient / diagonal).max())
    return (at + step, False) if after < largest / 2 else (at, True)


def _direction(
    gradient: Floats, product: Callable[[Floats], Floats], diagonal: Floats, tol: float
) -> Floats:
    """Conjugate gradients on H step = -gradient, until good enough or H curves downwards."""
    step, residual = np.zeros_like(gradient), -gradient
    scaled = residual / diagonal
    towards, power = scaled, float(residual @ scaled)
    enough = tol**2 * power
    for _ in range(_TURNS):
        turned = product(towards)
        curvature = float(towards @ turned)
        if curvature <= 0.0:
            return towards if not step.any() else step
        step = step + power / curvature * towards
        residual = residual - power / curvature * turned
        scaled = residual / diagonal
        power, old = float(residual @ scaled), power
        if power <= enough:
            break
        towards = scaled + power / old * towards
    return step
