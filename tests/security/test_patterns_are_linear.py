"""A text of a stranger's cannot make a regular expression of ours work longer than the text is long.

Every pattern of the package is pumped, in a process of its own: `python -m tests.security.test_patterns_are_linear`
does the same by hand, for one file after another, or for those that are named.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import ENDURANCE, PATIENCE
from tests.security.pumping import Work, find_growth

ROOT = Path(__file__).parents[2]
KNOWN_BAD = {
    "spaces before a line break that never comes": (r"[ \t]*[\r\n]+[ \t]*", "sub"),
    "hex letters without a digit": (r"(?=[0-9a-f-]*[0-9])[0-9a-f-]{12,}", "search"),
    "an address without an @": (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "search"),
    "two repeats of the same": (r"[.!?;\n]+\s+(?=\w)", "split"),
    "a repeat in a repeat": (r"^(?:a+)+$", "match"),
    "white space at the end": (r"\s+$", "sub"),
    "brackets that nobody closes": (r"\[[^\]]*\]\(", "finditer"),
    "a lookahead from every place": (r"a(?=.*b)", "finditer"),
    "a value that is read to its end from every dash": (r"(?<!\w)(?>\w*\d[\w-]*)\s+stays", "sub"),
    "a comment that nobody closes": (r"(?s)/\*.*?\*/", "sub"),
}
KNOWN_GOOD = {
    "an anchored repeat": (r"^\s+", "sub"),
    "a bounded repeat": (r"[\w.+-]{1,64}@[\w-]{1,64}", "search"),
    "only from the beginning of a run": (r"(?<![ \t])[ \t]*[\r\n]+[ \t]*", "sub"),
    "a repeat that gives nothing back": (r"^\W*+(?:days?\s*+)?lower", "match"),
    "words": (r"\w+", "findall"),
}


def find_work(ways: set[str]) -> Work:
    """The least way to run a pattern that costs as much as those."""
    if ways and ways <= {"match"}:
        return lambda pattern, text: pattern.match(text)
    if ways and ways <= {"match", "fullmatch"}:
        return lambda pattern, text: (pattern.match(text), pattern.fullmatch(text))
    if ways and ways <= {"match", "fullmatch", "search"}:
        return lambda pattern, text: pattern.search(text)
    return lambda pattern, text: sum(1 for _ in pattern.finditer(text))


@pytest.mark.parametrize("name", KNOWN_BAD)
def test_a_pattern_that_can_be_pumped_is_found(name: str) -> None:
    text, way = KNOWN_BAD[name]
    assert find_growth(re.compile(text), find_work({way})), text


@pytest.mark.parametrize("name", KNOWN_GOOD)
def test_a_pattern_that_cannot_is_left_alone(name: str) -> None:
    text, way = KNOWN_GOOD[name]
    assert find_growth(re.compile(text), find_work({way})) is None, text


@pytest.mark.slow
@pytest.mark.timeout(3 * ENDURANCE + PATIENCE)
def test_no_pattern_of_the_package_works_longer_than_its_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.test_patterns_are_linear"],
        cwd=ROOT, capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, timeout=3 * ENDURANCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 600, "patterns are missing: the walk through the package found too few"


def main() -> int:
    from tests.security.used_patterns import collect_patterns

    found = collect_patterns()
    bad = 0
    print(len(found), "patterns", flush=True)
    for one in found.values():
        if sys.argv[1:] and not one.place.startswith(tuple(sys.argv[1:])):
            continue
        if growth := find_growth(one.pattern, find_work(one.ways)):
            bad += 1
            print(
                f"\nsrc/circumspect/{one.place}: {one.pattern.pattern!r}\n  works longer than its text: {growth}",
                flush=True,
            )
    if bad:
        print(
            "\nBegin a run only where it begins, as in (?<!\\s)\\s+; let a repeat give nothing back, as in \\s*+; or give"
            " it a bound, as in {1,64}."
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
