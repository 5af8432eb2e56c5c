"""Plans: what is read, and the line of what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qrowd.errors import InputError, QrowdError, UnknownNameError
from qrowd.experiments.inputs import load
from qrowd.experiments.plan import Plan, TopicSet, parse_plan
from qrowd.experiments.presets import names, preset

PLAN = """[experiment]
name = "tiny"

[data]
pools = "trec21"
made = true
documents = 40
systems = 5
seed = 1

[grid]
approaches = [
    "mv",
    "sup_apc",
]
replicates = 3

[panels]
sizes = [2, 3]
each = 2

[topics]
half = [["411", "416"], {test = ["417"], train = ["411"]}]
"""


def test_a_plan_is_read() -> None:
    plan = parse_plan(PLAN)
    assert plan.grid.approaches == ("mv", "sup_apc")
    assert plan.topics["half"] == (TopicSet(("411", "416")), TopicSet(("417",), ("411",)))
    assert plan.panels.each == 2


def test_a_packed_plan_is_the_same() -> None:
    for plan in (parse_plan(PLAN), *map(preset, names())):
        assert Plan.unpacked(plan.packed) == plan


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("each = 2", "eech = 2", 20, "no key of [panels] 'eech'; did you mean each"),
        ("[panels]", "[panel]", 18, "no section 'panel'; did you mean panels"),
        ('"sup_apc"', '"sup_apd"', 14, "no method 'sup_apd'; did you mean"),
        ('"sup_apc"', '"borda"', 14, "borda merges orders"),
        ('"sup_apc"', '"gp"', 14, "gp needs documents"),
        (
            '"sup_apc"',
            '"soft(aware-uni)"',
            14,
            "soft(aware-uni): only methods that merge judgements",
        ),
        ('"sup_apc"', '"soft(dd)"', 14, "no method 'dd'; did you mean ds"),
        ('"sup_apc"', '"mv"', 13, "mv is there twice"),
        ("[2, 3]", "[2, 0]", 19, "at least one assessor"),
        ("[2, 3]", "[2, 2]", 19, "a size is there twice"),
        ("[2, 3]", '["2"]', 19, "must be a list of whole numbers"),
        ('train = ["411"]', 'train = ["417"]', 23, "topic 417 is in both halves"),
        ('["411", "416"]', '["411", "411"]', 23, "topic 411 is twice"),
        ('["411", "416"]', "[411, 416]", 23, "must be a list of lists of topics"),
        ("replicates = 3", 'statistics = ["taw"]', 16, "no statistics 'taw'"),
        ("replicates = 3", 'measures = ["APP"]', 16, "no measure 'APP'"),
        ('name = "tiny"', "", 1, "an experiment needs a name"),
        ("made = true", "", 4, "name"),
        ("each = 2", "each = = 2", 20, "is not TOML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in PLAN
    with pytest.raises(InputError) as wrong:
        parse_plan(PLAN.replace(old, new), "plan.toml")
    assert message in str(wrong.value)
    assert wrong.value.file == "plan.toml"
    if old != "made = true":
        assert wrong.value.line == line


def test_learning_from_gold_needs_topic_sets() -> None:
    with pytest.raises(InputError, match="name topic sets"):
        parse_plan(PLAN[: PLAN.index("[topics]")])


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[2, 3]", "[2, 32]", 19, "a panel of 32 is larger than the crowd of 31"),
        ("made = true", 'gold = "nowhere.qrels"', 6, "there is no nowhere"),
    ],
)
def test_what_the_data_lack_is_told_before_anything_runs(
    old: str, new: str, line: int, message: str
) -> None:
    with pytest.raises(InputError, match=message) as wrong:
        load(parse_plan(PLAN.replace(old, new) + '[runs]\nA = "."', "plan.toml"))
    assert wrong.value.line == line


def test_a_set_of_all_topics_leaves_none_to_learn_from() -> None:
    plan = parse_plan(PLAN.replace('{test = ["417"], train = ["411"]}', '["411", "416"]'))
    with pytest.raises(InputError, match="sup_apc has none to learn from"):
        load(plan)


def test_groups_are_chosen_by_name() -> None:
    assert list(preset("trec21-aware").only(("train5",)).topics) == ["train5"]
    with pytest.raises(UnknownNameError, match="did you mean train"):
        preset("trec21-aware").only(("train4",))
    with pytest.raises(QrowdError, match="no preset 'trec21'"):
        preset("trec21")


def test_the_printed_topic_sets() -> None:
    topics = preset("trec21-aware").topics
    sizes = {name: {len(one.test) for one in sets} for name, sets in topics.items()}
    assert sizes == {"train3": {7}, "train5": {5}, "train7": {3}}
    assert {name: len(sets) for name, sets in topics.items()} == {
        "train3": 15,
        "train5": 20,
        "train7": 35,
    }
    assert topics["train3"][8] == topics["train3"][9]  # as printed
    assert len(preset("trec21-aware").grid.approaches) == 18


def test_presets_find_the_real_runs(presets_with_data: None) -> None:
    inputs = load(preset("trec21-merging"))
    assert inputs.caption == (
        "runs: as in T08 (129 runs); gold: as in nist.qrels.gz; "
        "judgements: SIMULATED pools of TREC 2012 (seed 1)"
    )
    assert len(inputs.gold) == 18260
    assert len(inputs.crowd.assessors) == 31


def test_presets_run_without_any_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QROWD_DATA", raising=False)
    plan = preset("trec21-aware")
    small = replace(plan, data=replace(plan.data, documents=40, systems=5))
    inputs = load(small)
    assert list(inputs.gold.topics) == sorted(inputs.gold.topics)
    assert inputs.caption.count("SIMULATED") == 3
