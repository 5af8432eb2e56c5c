"""Write the reference pages: one for each method and group of commands, one each for the measures,
the screening rules, the keys of plans, the names of columns, the HTTP interface and the library.

python docs/generate.py        writes docs/reference/*/*.md
"""

from __future__ import annotations

import inspect
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click

import qrowd
from qrowd import registry
from qrowd.cli.campaign.office import ActCommand
from qrowd.cli.main import command as qrowd_command
from qrowd.cli.method_commands import USUAL, VERBS
from qrowd.io.roles import SYNONYMS

FOLDER = Path(__file__).parent / "reference"
TITLES = {
    "method": (
        "Methods",
        "Ways to merge what assessors say. In the library `qrowd.get('name(parameter=value)')` or "
        "the class; on the command line `qrowd merge name --parameter value`, and for those that "
        "merge scores (AWARE) `qrowd aware name`. [Which one to use](../../explanation/methods.md)"
        "; [what of the papers is here](../../evidence/papers.md).",
    ),
    "measure": (
        "Measures",
        "Numbers of a ranking. In the library `qrowd.AP`, `qrowd.nDCG @ 20`; on the command line "
        "`-m AP -m nDCG@20`; parameters in brackets: `RBP(p=0.5)`. "
        "[How they are computed](../../explanation/scores.md).",
    ),
    "rule": (
        "Screening rules",
        "Reasons to doubt an assessor, for `qrowd.screen` and `qrowd quality --screen`. "
        "[What screening does](../../explanation/trust.md).",
    ),
}


def main() -> None:
    """Write all pages; those of before go first."""
    for folder in FOLDER.glob("*/"):
        shutil.rmtree(folder)
    for name, text in pages().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The text of each page, by its place in the folder `reference`."""
    made = {}
    for kind in TITLES:
        cards = registry.cards(kind)
        made[f"{kind}s/index.md"] = registry_page(kind)
        if kind == "method":  # the others are short: all of a kind on one page
            made |= {f"{kind}s/{name}.md": card_page(card) for name, card in cards.items()}
    made["commands/index.md"] = commands_page()
    for group in _groups():
        made[f"commands/{group}.md"] = command_page(group)
    made["plan/index.md"] = plan_page()
    made["columns/index.md"] = columns_page()
    made["python/index.md"] = library_page()
    http = http_page()
    return made | ({"http/index.md": http} if http else {})


# --- methods, measures, rules ---------------------------------------------------------------------


def registry_page(kind: str) -> str:
    """All cards of a kind, each with a link to its page."""
    title, about = TITLES[kind]
    cards = registry.cards(kind).values()
    target = "{}.md" if kind == "method" else "#{}"
    rows = [f"| [`{c.id}`]({target.format(c.id)}) | {c.summary} | {c.paper} |" for c in cards]
    table = "\n".join([f"| {kind} | what it is | source |", "|---|---|---|", *rows])
    own = [f"## `{c.id}` {{ #{c.id} }}\n\n{_body(c)}" for c in cards if kind != "method"]
    return "\n\n".join([f"# {title}", about, table, *own]) + "\n"


def card_page(card: registry.Card) -> str:
    """The page of a card: where it comes from, what it says of itself, its parameters."""
    return f"# `{card.id}`\n\n[{TITLES[card.kind][0]}](index.md) · {_body(card)}\n"


def _body(card: registry.Card) -> str:
    name = card.id if card.kind == "measure" else card.cls.__name__
    facts = [f"`qrowd.{name}`", card.paper]
    facts += [f"needs {', '.join(card.needs)}"] if card.needs else []
    facts += [f"profits from {', '.join(card.uses)}"] if card.uses else []
    aliases = [f"`{alias}` is `{full}`" for alias, full in card.aliases]
    parts = [" · ".join(facts), markdown_of(card.cls), _parameters(card)]
    return "\n\n".join([*parts, "Also: " + ", ".join(aliases)] if aliases else parts)


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
    from qrowd.collection.plan.sections import Checks, sections

    parts = [
        "# The plan of a campaign",
        "A TOML file; every key has a default. `[files]` paths are "
        "relative to the plan. [Campaigns](../campaigns.md) tells what follows from it.",
    ]
    for name, kind in sections().items():
        _, dot, check = name.partition(".")
        usual = getattr(Checks(), check) if dot else kind()
        rows = [
            f"| `{p.name}` | `{getattr(usual, p.name)!r}` | {_cell(p.allowed)} | {_cell(p.help)} |"
            for p in registry.params_of(kind)
        ]
        table = ["| key | default | values | meaning |", "|---|---|---|---|", *rows]
        parts += [f"## `[{name}]`", inspect.getdoc(kind) or "", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


def columns_page() -> str:
    """Under which names columns of tables are recognised."""
    rows = [
        f"| `{name}` | {' '.join(f'`{word}`' for word in words.split() if word != name)} |"
        for name, words in SYNONYMS.items()
        if len(words.split()) > 1
    ]
    about = (
        "Columns of tables are recognised under these names, in upper or lower case, with blanks, "
        "hyphens or dots for underscores. Others are named by `--columns`: "
        "[files](../formats.md#judgements) tells how."
    )
    table = "\n".join(["| column | may also be called |", "|---|---|", *rows])
    return f"# Names of columns\n\n{about}\n\n{table}\n"


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


def _groups() -> dict[str, list[tuple[str, click.Command, click.Context]]]:
    """All commands by their first word."""
    groups: dict[str, list[tuple[str, click.Command, click.Context]]] = {}
    for path, verb, context in verbs():
        groups.setdefault(path.split()[0], []).append((path, verb, context))
    return groups


@cache
def common_options() -> dict[str, str]:
    """Options that four groups of commands or more have, with the same meaning: said once."""
    having: dict[tuple[str, str], set[str]] = {}
    for path, verb, context in verbs():
        for record in _records(verb, context):
            having.setdefault(record, set()).add(path.split()[0])
    return dict(sorted(record for record, groups in having.items() if len(groups) >= 4))


def commands_page() -> str:
    """All commands that stand after `qrowd`, each with a link to its page; common options."""
    about = _help(qrowd_command)
    firsts = [(name, commands[0][1]) for name, commands in _groups().items()]
    rows = [
        f"| [`{name}`]({name}.md) | {_cell(verb.get_short_help_str(200))} |"
        for name, verb in firsts
    ]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    common = "## Common options\n\nMany commands have these, with the same meaning."
    options = _table("option", list(common_options().items()))
    return "\n\n".join(["# Commands", about, table, common, options]) + "\n"


def command_page(group: str) -> str:
    """A command with those under it; what all methods of a group take is said once."""
    commands = _groups()[group]
    level = {verb: level for level, verb in VERBS.items()}.get(group)
    shared: set[tuple[str, str]] = set()
    if level:
        usual = next((v, c) for path, v, c in commands if path == f"{group} {USUAL[level]}")
        own = {param.name for param in registry.get(USUAL[level]).card.params}
        shared = set(_records(*usual, without=own))
    parts = ["[Commands](index.md)"]
    for path, verb, context in commands:
        records = [each for each in _records(verb, context) if each not in shared]
        parts.append(_command(path, verb, context, records, method=bool(level) and " " in path))
        if path == group and shared:
            parts.append("Every method takes these; each has its own below.")
            parts.append(_options(sorted(shared)))
    return "\n\n".join([f"# `qrowd {group}`", *parts]) + "\n"


def _options(records: list[tuple[str, str]]) -> str:
    """A table of options; those that many commands have are only named."""
    common = common_options()
    own = [record for record in records if common.get(record[0]) != record[1]]
    named = [names for names, meaning in records if common.get(names) == meaning]
    said = ", ".join(f"`{names.split()[0].rstrip(',')}`" for names in named)
    also = f"[Common options](index.md#common-options): {said}." if named else ""
    return "\n\n".join(filter(None, [_table("option", own), also]))


def _command(
    path: str,
    verb: click.Command,
    context: click.Context,
    records: list[tuple[str, str]],
    method: bool,
) -> str:
    usage = " ".join(["qrowd", path, *verb.collect_usage_pieces(context)])
    name = path.rpartition(" ")[2]
    parts = [
        f"## `{path}` {{ #{path.replace(' ', '-')} }}",
        f"The method [`{name}`](../methods/{name}.md)." if method else _help(verb),
        f"```text\n{usage}\n```",
        _table("act", verb.acts()) if isinstance(verb, ActCommand) else "",
        _options(records),
    ]
    return "\n\n".join(filter(None, parts))


def _help(verb: click.Command) -> str:
    """The help text; what click is told not to rewrap (after \\b) becomes a code block."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(verb.help or "").split("\f")[0])
    return "\n\n".join(
        "```text\n" + inspect.cleandoc(p.replace("\b\n", "", 1)) + "\n```" if "\b" in p else p
        for p in paragraphs
    )


def _records(
    verb: click.Command, context: click.Context, without: Collection[str | None] = ()
) -> list[tuple[str, str]]:
    params = [param for param in verb.get_params(context) if param.name not in without]
    return [record for param in params if (record := param.get_help_record(context))]


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
    about = (
        "`import qrowd as q`. [Methods](../methods/index.md), [measures](../measures/index.md) and "
        "[rules](../rules/index.md) have their own pages."
    )
    parts = ["# Python", about, "## Verbs", *verbs, "## Nouns", *nouns, "## Values", *values]
    return "\n\n".join(parts) + "\n"


def _noun(name: str, thing: type) -> str:
    return f"### `{name}`\n\n{markdown_of(thing)}"


def _verb(name: str, thing: object) -> str:
    assert callable(thing)
    signature = f"```python\nq.{name}{inspect.signature(thing)}\n```"
    return f"### `{name}`\n\n{signature}\n\n{markdown_of(thing)}"


# --- the HTTP interface ---------------------------------------------------------------------------


def http_page() -> str:
    """Every operation, as the server describes it; nothing without the extra `serve`."""
    try:
        from qrowd.web.app import make_app
        from qrowd.web.settings import Settings
    except ImportError:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(Settings.of_folder(Path(folder)))
        described = app.openapi()
        app.state.store.close()
    parts = ["# HTTP interface", described["info"]["description"]]
    parts.append("A server has the same with every field, for programs, at `/api/openapi.json`.")
    groups: dict[str, list[str]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            group = path.removeprefix("/api/").removeprefix("campaigns/{name}/").split("/")[0]
            groups.setdefault(group, []).append(_operation(method, path, operation))
    for group, rows in sorted(groups.items()):
        table = ["| operation | what it does | fields |", "|---|---|---|", *rows]
        parts += [f"## {group}", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    asked = [p["name"] for p in operation.get("parameters", ()) if p["in"] == "query"]
    bodies = operation.get("requestBody", {}).get("content", {}).values()
    asked += [
        body["schema"]["$ref"].rpartition("/")[2] for body in bodies if "$ref" in body["schema"]
    ]
    about = operation.get("description") or operation.get("summary", "")
    names = ", ".join(f"`{name}`" for name in asked)
    return f"| `{method.upper()} {path}` | {_cell(about)} | {names} |"


if __name__ == "__main__":
    main()
