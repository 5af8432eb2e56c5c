"""The steps of the wizard. Each is one class in the module of its family, and one template.

    all_steps()["pay"].suggest(draft)    a step by its name; the mapping is in the wizard's order
    step_of("pay", "budget")             the name of the step that asks for a key of the plan

Modules of this package are found by themselves, and their classes by being there (`step`).
"""

from __future__ import annotations

import importlib
import pkgutil

from qrowd.collection.drafts.steps.step import (
    Step,
    StepForm,
    all_steps,
    step_named,
    step_of,
    suggested,
)

__all__ = ["Step", "StepForm", "all_steps", "step_named", "step_of", "suggested"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
