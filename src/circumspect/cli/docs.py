"""`circumspect docs`: the pages of this version, for whoever has the package and no checkout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

import click

from circumspect.errors import ConfigError


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """Print PAGE of the documentation; without one, what pages there are.

    \b
    circumspect docs
    circumspect docs policy
    """
    pages = dict(_find_pages())
    if page is None:
        width = max(map(len, pages))
        click.echo("\n".join(f"{name:<{width}}  {_read_title(text)}" for name, text in pages.items()))
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        near = ", ".join(get_close_matches(name, pages)) or "`circumspect docs` lists them"
        raise ConfigError(f"There is no page '{page}'.", fix=f"Perhaps: {near}.")
    if sys.stdout.isatty():
        click.echo_via_pager(pages[name])
    else:
        click.echo(pages[name], nl=False)


def _find_pages() -> Iterator[tuple[str, str]]:
    """Packed into the wheel; in a checkout they lie where they are written."""
    packed = Path(str(files("circumspect"))) / "docs"
    folder = packed if packed.is_dir() else packed.parents[2] / "docs"
    for file in sorted(folder.glob("*.md")):
        yield file.stem, file.read_text("utf-8")


def _read_title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")
