"""`python -m bench.answers [DIRECTORY]`: how well a yes and a no are told from everything else.

Precision and recall per language on the cases of our own tests and, where a directory is given, on its `*.jsonl` files
of labelled replies: `{"reply": …, "label": "confirm|deny|other", "values": […], "language": "en"}`, the last two
optional. A wrong confirm runs something that nobody asked for, so precision of confirm is the figure that matters.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.language.answer_cases import Case, cases

from circumspect.language.yes_no import classify

HEADER = f"{'':<24}{'':>6}  {'confirm':>9}{'':>9}  {'deny':>9}"
COLUMNS = f"{'':<24}{'cases':>6}  {'precision':>9}{'recall':>9}  {'precision':>9}{'recall':>9}"


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.answers", description="Measure how answers are read.")
    parser.add_argument("directory", nargs="?", type=Path, help="a directory of labelled replies (*.jsonl)")
    parser.add_argument("--wrong", action="store_true", help="also print every reply that is read wrongly")
    options = parser.parse_args()

    own = cases()
    print(HEADER, COLUMNS, sep="\n")
    for language in dict.fromkeys(case.language for case in own):
        _show(f"our cases, {language}", [case for case in own if case.language == language], wrong=options.wrong)
    _show("our cases", own, wrong=options.wrong)
    for file in sorted(options.directory.glob("*.jsonl")) if options.directory else ():
        labelled = list(_labelled(file))
        _show(f"{file.stem}, with values", labelled, wrong=options.wrong)
        _show(f"{file.stem}, without", [Case(one.language, one.text, (), one.answer) for one in labelled], wrong=False)
    print(f"\n{_seconds(own) * 1e6:.0f} µs a message")


def _labelled(file: Path) -> Iterable[Case]:
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Case(row.get("language", "en"), row["reply"], tuple(row.get("values", ())), row["label"])


def _show(name: str, found: list[Case], *, wrong: bool) -> None:
    pairs = Counter((case.answer, classify(case.text, values=case.values)) for case in found)
    figures = "".join(f"  {_precision(pairs, answer)}{_recall(pairs, answer)}" for answer in ("confirm", "deny"))
    print(f"{name:<24}{len(found):>6}{figures}")
    for case in found if wrong else ():
        if (read := classify(case.text, values=case.values)) != case.answer:
            print(f"    {case.answer} read as {read}: {' '.join(case.text.split())}")


def _precision(pairs: Counter[tuple[str, str]], answer: str) -> str:
    return _share(pairs[answer, answer], sum(count for (_, read), count in pairs.items() if read == answer))


def _recall(pairs: Counter[tuple[str, str]], answer: str) -> str:
    return _share(pairs[answer, answer], sum(count for (meant, _), count in pairs.items() if meant == answer))


def _share(right: int, of: int) -> str:
    return f"{f'{right}/{of}':>9}"


def _seconds(found: list[Case]) -> float:
    start = time.perf_counter()
    for case in found:
        classify(case.text, values=case.values)
    return (time.perf_counter() - start) / len(found)


if __name__ == "__main__":
    main()
