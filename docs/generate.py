"""Write the reference pages: methods, measures and rules from the registry, commands from click.

python docs/generate.py        writes docs/reference/*.md
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

import qrowd
from qrowd import registry
from qrowd.cli.campaign.office import ActCommand
from qrowd.cli.main import command as qrowd_command

HERE = Path(__file__).parent
TITLES = {
    "method": (
        "Methods",
        "Ways to merge what assessors say. In the library `qrowd.get('name(parameter=value)')` or "
        "the class; on the command line `qrowd merge name --parameter value`, and for those that "
        "merge scores (AWARE) `qrowd aware name`. [What of the papers is here](../papers.md).",
    ),
    "measure": (
        "Measures",
        "Numbers of a ranking. In the library `qrowd.AP`, `qrowd.nDCG @ 20`; on the command line "
        "`-m AP -m nDCG@20`; parameters in brackets: `RBP(p=0.5)`.",
    ),
    "rule": ("Screening rules", "Reasons to doubt an assessor, for `qrowd.screen`."),
}


def main() -> None:
    """Write all pages."""
    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    for kind in TITLES:
        path = folder / f"{kind}s.md"
        path.unlink(missing_ok=True)
        if registry.cards(kind):
            path.write_text(registry_page(kind), encoding="utf-8")
    (folder / "cli.md").write_text(command_page(), encoding="utf-8")
    (folder / "library.md").write_text(library_page(), encoding="utf-8")
    (folder / "plan.md").write_text(plan_page(), encoding="utf-8")


# --- methods, measures, rules ---------------------------------------------------------------------


def registry_page(kind: str) -> str:
    """One heading per card."""
    title, about = TITLES[kind]
    cards = registry.cards(kind).values()
    index = "\n".join(f"| [`{c.id}`](#{slug(c.id)}) | {c.summary} | {c.paper} |" for c in cards)
    table = f"| {kind} | what it is | source |\n|---|---|---|\n{index}"
    return "\n\n".join([f"# {title}", about, table, *map(_section, cards)]) + "\n"


def slug(id: str) -> str:
    """The anchor of a card."""
    return id.lower()


def _section(card: registry.Card) -> str:
    head = f"## `{card.id}` {{ #{slug(card.id)} }}"
    facts = [f"`qrowd.{card.cls.__name__}`" if card.kind != "measure" else f"`qrowd.{card.id}`"]
    facts.append(card.paper)
    facts += [f"needs {', '.join(card.needs)}"] if card.needs else []
    facts += [f"profits from {', '.join(card.uses)}"] if card.uses else []
    aliases = [f"`{alias}` is `{full}`" for alias, full in card.aliases]
    parts = [head, " · ".join(facts), markdown_of(card.cls), _parameters(card)]
    return "\n\n".join([*parts, "Also: " + ", ".join(aliases) if aliases else ""]).strip()


def _parameters(card: registry.Card) -> str:
    if not card.params:
        return "No parameters."
    rows = [
        f"| `{p.name}` | `{p.default!r}` | {_cell(p.allowed)} | {_cell(p.help)} |"
        for p in card.params
    ]
    return "\n".join(["| parameter | default | values | meaning |", "|---|---|---|---|", *rows])


def plan_page() -> str:
    """Every key of a campaign's plan file, by section."""
    from qrowd.collection.plan.sections import sections

    parts = [
        "# The plan of a campaign",
        "A TOML file; every key has a default. `[files]` paths are "
        "relative to the plan. [Collecting judgements](../collecting.md) tells how it is used.",
    ]
    for name, kind in sections().items():
        rows = [
            f"| `{p.name}` | `{p.default!r}` | {_cell(p.allowed)} | {_cell(p.help)} |"
            for p in registry.params_of(kind)
        ]
        table = ["| key | default | values | meaning |", "|---|---|---|---|", *rows]
        parts += [f"## `[{name}]`", inspect.getdoc(kind) or "", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def markdown_of(thing: object) -> str:
    """A docstring as markdown: examples become code blocks."""
    lines: list[str] = []
    inside = False
    for line in (inspect.getdoc(thing) or "").split("\n"):
        if line.startswith(">>>") and not inside:
            lines += [*([""] if lines and lines[-1] else []), "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


# --- commands -------------------------------------------------------------------------------------


def verbs() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its context, groups' commands after their group."""
    top = click.Context(qrowd_command, info_name="qrowd")
    for name in qrowd_command.list_commands(top):
        found = qrowd_command.get_command(top, name)
        assert found is not None, name
        yield from _with_children(name, found, top)


def _with_children(
    name: str, verb: click.Command, parent: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(verb, info_name=name, parent=parent)
    path = context.command_path.removeprefix("qrowd ")
    yield path, verb, context
    if isinstance(verb, click.Group):
        for child in verb.list_commands(context):
            found = verb.get_command(context, child)
            if found is not None:
                yield from _with_children(child, found, context)


def command_page() -> str:
    """One heading per command."""
    about = inspect.cleandoc(qrowd_command.help or "")
    sections = [_command(path, verb, context) for path, verb, context in verbs()]
    return "\n\n".join(["# Commands", about, *sections]) + "\n"


def _command(path: str, verb: click.Command, context: click.Context) -> str:
    anchor = path.replace(" ", "-")
    usage = " ".join(["qrowd", path, *verb.collect_usage_pieces(context)])
    parts = [f"## `{path}` {{ #{anchor} }}", _help(verb), f"```text\n{usage}\n```"]
    acts = _table("act", verb.acts()) if isinstance(verb, ActCommand) else ""
    return "\n\n".join(filter(None, [*parts, acts, _options(verb, context)]))


def _help(verb: click.Command) -> str:
    """The help text; what click is told not to rewrap (after \\b) becomes a code block."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(verb.help or "").split("\f")[0])
    return "\n\n".join(
        "```text\n" + inspect.cleandoc(p.replace("\b\n", "", 1)) + "\n```" if "\b" in p else p
        for p in paragraphs
    )


def _options(verb: click.Command, context: click.Context) -> str:
    records = [record for p in verb.get_params(context) if (record := p.get_help_record(context))]
    return _table("option", records)


def _table(noun: str, records: list[tuple[str, str]]) -> str:
    rows = [f"| `{_cell(names)}` | {_cell(help)} |" for names, help in records]
    return "\n".join([f"| {noun} | meaning |", "|---|---|", *rows]) if rows else ""


# --- the library ----------------------------------------------------------------------------------


def library_page() -> str:
    """Every public name with its docstring, nouns before verbs."""
    things = {name: getattr(qrowd, name) for name in qrowd.__all__}
    nouns = [_noun(name, thing) for name, thing in things.items() if inspect.isclass(thing)]
    verbs = [_verb(name, thing) for name, thing in things.items() if inspect.isfunction(thing)]
    values = [
        f"### `{name}`\n\n`{thing!r}`"
        for name, thing in things.items()
        if not inspect.isclass(thing) and not inspect.isfunction(thing)
    ]
    about = "`import qrowd as q`. Methods, measures and rules have their own pages."
    parts = ["# Library", about, "## Verbs", *verbs, "## Nouns", *nouns, "## Values", *values]
    return "\n\n".join(parts) + "\n"


def _noun(name: str, thing: type) -> str:
    return f"### `{name}`\n\n{markdown_of(thing)}"


def _verb(name: str, thing: object) -> str:
    assert callable(thing)
    signature = f"```python\nq.{name}{inspect.signature(thing)}\n```"
    return f"### `{name}`\n\n{signature}\n\n{markdown_of(thing)}"


if __name__ == "__main__":
    main()
