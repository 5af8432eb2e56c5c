"""The steps of the wizard. Each is one class in the module of its family, and one template.

    all_steps()["pay"].suggest(draft)    a step by its name; the mapping is in the wizard's order
    step_of("pay", "budget")             the name of the step that asks for a key of the plan

Modules of this package are found by themselves, and their classes by being there (`step`).
"""

from __future__ import annotations

from qrowd.collection.drafts.steps.step import (
    Step,
    StepForm,
    all_steps,
    step_named,
    step_of,
    suggested,
)
from qrowd.registry import import_modules

__all__ = ["Step", "StepForm", "all_steps", "step_named", "step_of", "suggested"]

import_modules(__name__)
