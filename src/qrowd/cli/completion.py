"""`qrowd completion`: what makes a shell complete commands, options, methods and measures."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from qrowd.cli import options as opt
from qrowd.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@opt.command()
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str | None) -> None:
    """Print what makes a shell complete commands.

    Commands, options, files, methods and measures are completed by the Tab key. SHELL is yours
    where it is not named. To have it in every new shell, write the script to a file once:

    \b
      bash    qrowd completion bash > ~/.local/share/bash-completion/completions/qrowd
      zsh     qrowd completion zsh > ~/.zfunc/_qrowd     with fpath+=~/.zfunc before compinit
      fish    qrowd completion fish > ~/.config/fish/completions/qrowd.fish

    \b
    Examples:
      qrowd completion bash
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise UsageError(f"name the shell: {', '.join(SHELLS)}")
    kind = get_completion_class(name)
    assert kind is not None
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "qrowd", "_QROWD_COMPLETE").source())
