"""What one look at a plan alone can tell to be wrong, each with its line."""

from __future__ import annotations

from qrowd.errors import InputError, UnknownNameError, UsageError
from qrowd.evaluation.measure import measures_of
from qrowd.experiments.plan import Labels, Panels, Plan

STATISTICS = ("tau_ap", "tau", "rmse")
FIGURES = (
    "accuracy",
    "recall",
    "precision",
    "specificity",
    "f1",
    "balanced_accuracy",
    "kappa",
    "lam",
    "auc",
    "log_loss",
    "mse",
    "rmse",
    "map",
    "ndcg",
)
GOLDS = ("certain", "random")
ANSWERS = ("quantised", "fractional")


def check(plan: Plan) -> None:
    """An error where the plan contradicts itself, or lacks what it needs."""
    _refuse_missing(
        plan,
        (plan.experiment.name, "experiment", "name", "an experiment needs a name"),
        (plan.grid.approaches, "grid", "approaches", 'name at least one, as in "mv"'),
        (plan.data.gold or plan.data.made, "data", "gold", "name the qrels to compare with"),
        (
            plan.data.judgements or plan.data.pools,
            "data",
            "judgements",
            'name a file, or say how they are simulated (pools = "trec21")',
        ),
    )
    if plan.labels == Labels():
        _check_scores(plan)
    else:
        _check_labels(plan)


def _check_scores(plan: Plan) -> None:
    """A plan of panels and runs."""
    _refuse_missing(
        plan,
        (plan.panels.sizes, "panels", "sizes", "name at least one, as in [3, 5]"),
        (plan.runs or plan.data.made, "runs", "", "name at least one set of runs"),
    )
    if plan.data.pools == "trec11":
        raise plan.wrong("data", "pools", "trec11 has no runs: it is for plans with [labels]")
    _refuse_unknown(plan, "grid", "statistics", STATISTICS)
    _refuse_unknown(plan, "grid", "gold", GOLDS)
    if min(plan.panels.sizes) < 1:
        raise plan.wrong("panels", "sizes", "a panel has at least one assessor")
    if len(set(plan.panels.sizes)) < len(plan.panels.sizes):
        raise plan.wrong("panels", "sizes", "a size is there twice")
    _check_approaches(plan)
    try:
        measures_of(plan.grid.measures)
    except UsageError as error:
        raise plan.wrong("grid", "measures", str(error)) from None
    _check_sets(plan)


def _check_labels(plan: Plan) -> None:
    """A plan of labels: no runs, no panels, no topic sets."""
    if plan.labels.folds < 2:
        raise plan.wrong("labels", "folds", "gold must have 2 parts or more, as in folds = 3")
    if plan.data.pools == "trec21" or (plan.data.gold and not plan.data.judgements):
        message = 'name a file, or let gold be made with them (pools = "trec11", made = true)'
        raise plan.wrong("data", "judgements", message)
    others = {"runs": plan.runs, "panels": plan.panels != Panels(), "topics": plan.topics}
    for section, there in others.items():
        if there:
            raise plan.wrong(section, "", "a plan with [labels] scores labels: leave this out")
    _refuse_unknown(plan, "grid", "statistics", FIGURES)
    _refuse_unknown(plan, "labels", "answers", ANSWERS)
    _check_approaches(plan)
    for name in plan.grid.approaches:
        if plan.method(name).card.level != "judgements":
            message = f"{name} merges scores, and gives no labels"
            raise plan.wrong("grid", "approaches", message, name)


def _refuse_missing(plan: Plan, *needed: tuple[object, str, str, str]) -> None:
    for there, section, key, message in needed:
        if not there:
            raise plan.wrong(section, key, message)


def _refuse_unknown(plan: Plan, section: str, key: str, allowed: tuple[str, ...]) -> None:
    for name in getattr(getattr(plan, section), key):
        if name not in allowed:
            raise plan.wrong(section, key, str(UnknownNameError.among(key, name, allowed)))


def _check_approaches(plan: Plan) -> None:
    for name in plan.grid.approaches:
        _check_approach(plan, name)
    for name in plan.names:
        if name not in plan.grid.approaches:
            raise plan.wrong("names", name, "no approach of [grid] has this name")
    for key in ("approaches", "statistics", "gold"):
        names = getattr(plan.grid, key)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise plan.wrong("grid", key, f"{twice[0]} is there twice", twice[0])


def _check_approach(plan: Plan, name: str) -> None:
    def wrong(message: str) -> InputError:
        if name in plan.names:
            return plan.wrong("names", name, message)
        return plan.wrong("grid", "approaches", message, name)

    try:
        card = plan.method(name).card
    except UsageError as error:
        raise wrong(str(error)) from None
    needs = [need for need in card.needs if need not in ("reference", "random")]
    if card.level == "orders" or needs:
        what = "merges orders" if card.level == "orders" else f"needs {', '.join(needs)}"
        raise wrong(f"{name} {what}, which an experiment does not have")
    if "reference" in card.needs and not plan.topics and plan.labels == Labels():
        raise wrong(f"{name} learns from gold on other topics; name topic sets in [topics]")


def _check_sets(plan: Plan) -> None:
    for group, sets in plan.topics.items():
        for test, train in sets:
            twice = [name for name in test if test.count(name) > 1]
            if twice:
                raise plan.wrong("topics", group, f"topic {twice[0]} is twice in one set", twice[0])
            both = sorted(set(test) & set(train))
            if both:
                message = f"topic {both[0]} is in both halves of a set: in test and in train"
                raise plan.wrong("topics", group, message, both[0])
