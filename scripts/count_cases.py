"""`python -m scripts.count_cases`: the numbers of cases in docs/security.md, counted anew by asking pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "security.md"
CLAIM = re.compile(r"`(tests/[\w/]+\.py)` (\d+)")


def count_cases(paths: list[str]) -> dict[str, int]:
    said = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *paths],
        capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout  # fmt: skip
    found = {path: int(number) for path, number in re.findall(r"^(tests/\S+\.py): (\d+)$", said, re.M)}
    assert found.keys() == set(paths), said
    return found


def main() -> None:
    text = PAGE.read_text("utf-8")
    found = count_cases(sorted({path for path, _ in CLAIM.findall(text)}))
    PAGE.write_text(CLAIM.sub(lambda claim: f"`{claim[1]}` {found[claim[1]]}", text), "utf-8")
    print(f"{sum(found.values()):,} cases in {len(found)} files")


if __name__ == "__main__":
    main()
