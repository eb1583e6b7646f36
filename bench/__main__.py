"""`python -m bench [NAME…|all]`: measures, prints, and with --json also writes a file."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
from pathlib import Path

from bench.report import Section, facts, show, show_facts

BENCHES = ("overhead", "flat", "cost", "enforce", "startup", "audit", "wire")


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench", description="Measure circumspect, and peers where installed.")
    parser.add_argument(
        "what", nargs="*", choices=[*BENCHES, "all"], default="all", metavar="|".join([*BENCHES, "all"])
    )
    parser.add_argument("--rounds", type=int, help="how often everybody is measured (each benchmark has its default)")
    parser.add_argument("--turns", type=int, default=1000, help="flat: how long our conversation grows")
    parser.add_argument("--peer-turns", type=int, default=200, help="flat: how long the peers' conversations grow")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    options = parser.parse_args()
    chosen = [options.what] if isinstance(options.what, str) else options.what

    found = facts()
    show_facts(found)
    sections = []
    for name in BENCHES if "all" in chosen else dict.fromkeys(chosen):
        section = asyncio.run(_run(name, options))
        show(section)
        sections.append(section)
    if options.json:
        figures = {"facts": found, "sections": {section.name: section.to_json() for section in sections}}
        options.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


async def _run(name: str, options: argparse.Namespace) -> Section:
    arguments = {"rounds": options.rounds} if options.rounds else {}
    if name == "flat":
        arguments |= {"turns": options.turns, "peer_turns": options.peer_turns}
    section: Section = await importlib.import_module(f"bench.{name}").run(**arguments)
    return section


if __name__ == "__main__":
    main()
