"""What a plan asks of its data that they do not have, told before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qrowd.errors import InputError, ScaleError, UnknownNameError
from qrowd.experiments.plan import TopicSet

if TYPE_CHECKING:
    from qrowd.experiments.material import Material


def check(material: Material) -> None:
    """An error where the data do not have what the plan asks for."""
    plan, crowd, gold = material.plan, material.crowd, material.gold
    most = max(plan.panels.sizes, default=0)
    if most > len(crowd.assessors):
        message = f"a panel of {most} is larger than the crowd of {len(crowd.assessors)}"
        raise plan.wrong("panels", "sizes", message)
    for group, sets in plan.topics.items():
        for one in sets:
            _check_topics(material, group, one)
    if not len(gold.topics.intersection(crowd.topics)):
        raise InputError("gold and judgements have no topic in common", file=plan.file)
    if crowd.scale.grades != (0, 1):
        _check_grades(material)
    if plan.labels.folds:
        _check_gold(material)


def _check_topics(material: Material, group: str, one: TopicSet) -> None:
    plan, gold, crowd = material.plan, material.gold.topics, material.crowd.topics
    for name in (*one.test, *one.train):
        for what, known in (("gold", gold), ("judgements", crowd)):
            if name not in known:
                message = str(UnknownNameError.among(f"topic in the {what}", name, known))
                raise plan.wrong("topics", group, message, name)
    if not material.training(one):
        for spec in plan.grid.approaches:
            if "reference" in plan.method(spec).card.needs:
                message = f"a set has all topics, so that {spec} has none to learn from"
                raise plan.wrong("topics", group, message)


def _check_grades(material: Material) -> None:
    """Methods for two grades only, on more: said before anything runs."""
    plan = material.plan
    for spec in plan.grid.approaches:
        if plan.method(spec).card.grades == "binary":
            message = f"{spec} takes two grades; the judgements have {material.crowd.scale}"
            raise plan.wrong("grid", "approaches", message, spec)


def _check_gold(material: Material) -> None:
    """Gold that is held out in parts: on the judgements' grades, and enough of it."""
    plan, gold = material.plan, material.gold
    try:
        material.crowd.scale.codes_of_gold(gold.grade, "the judgements")
    except ScaleError:
        message = f"its grades go up to {gold.grade.max()}; the judgements have "
        message += f"{material.crowd.scale}: say from which grade on gold is relevant, gold_rel = 1"
        raise plan.wrong("data", "gold", message) from None
    if len(gold) < plan.labels.folds:
        message = f"gold has {len(gold)} pairs, fewer than parts"
        raise plan.wrong("labels", "folds", message)
