"""The pages do what they say: their blocks run, each page in a folder of its own, offline. `pages.py` has the rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs import run_page
from tests.docs.pages import PAGES, ROOT, blocks, commands, fits
from tests.patience import ENDURANCE, PATIENCE

pytestmark = pytest.mark.timeout(ENDURANCE + PATIENCE)  # the first of them runs all pages
RUNNING = [page for page in PAGES if any(one.kind in ("python", "console") and one.runs for one in blocks(page))]


def surroundings() -> dict[str, str]:
    """This environment with nothing in it that could decide what happens: no keys, no settings, no proxies."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CIRCUMSPECT_", "OPENAI_", "ANTHROPIC_")) and not name.lower().endswith("_proxy")
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.run_page", str(folder), *map(str, RUNNING)],
        capture_output=True, encoding="utf-8", cwd=ROOT, env=surroundings(), timeout=ENDURANCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs_and_prints_what_the_page_says(page: Path, verdicts: dict[str, str]):
    assert verdicts[str(page)] == "", verdicts[str(page)]


# --- the reader of pages is itself held to something -----------------------------------------------------------------

PAGE = """
# A page
```python
print("one")
```
```output
one
```
- in a list:
  ```console
  $ echo two \\
    three
  two …
  $ true
  ```
```yaml policy.yaml
version: 1
```
```python no-run
1 / 0
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    written = tmp_path / "page.md"
    written.write_text(PAGE, "utf-8")
    return written


def test_blocks_are_read_with_their_kind_their_line_and_whether_they_run(page: Path):
    found = list(blocks(page))
    assert [(one.kind, one.runs, one.file) for one in found] == [
        ("python", True, ""),
        ("output", True, ""),
        ("console", True, ""),
        ("yaml", True, "policy.yaml"),
        ("python", False, ""),
    ]
    assert PAGE.splitlines()[found[0].line - 1] == 'print("one")'
    assert found[3].text == "version: 1\n"


def test_console_blocks_are_commands_with_what_they_print(page: Path):
    (console,) = (one for one in blocks(page) if one.kind == "console")
    assert [(command, printed) for command, printed, _ in commands(console)] == [
        ("echo two \\\n  three", "two …"),
        ("true", ""),
    ]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("one", "one  \n", True),
        ("one", "two", False),
        ("o…e", "one\n", True),
        ("a.c", "abc", False),
        ("first\n…\nlast", "first\nmuch\nmore\nlast\n", True),
        ("first\n…\nlast", "first\nlast\n", True),
        ("first\n…", "last\n", False),
        ("", "something\n", False),
        ("", "", True),
    ],
)
def test_what_was_printed_is_held_against_what_was_promised(expected: str, printed: str, same: bool):
    assert fits(expected, printed) is same


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n1 / 0\n```", "division by zero"),
        ("```python\nprint(1)\n```\n```output\n2\n```", "the page says"),
        ("```console\n$ exit 3\n```", "exit code 3"),
        ("```console\n$ echo one\ntwo\n```", "the page says"),
        ("```sql\nSELECT nothing FROM nowhere\n```", "line 2"),
        ("```python\nimport socket\nsocket.create_connection(('192.0.2.1', 80), 1)\n```", "tried to reach"),
    ],
)
def test_a_page_that_lies_is_found_out(tmp_path: Path, text: str, complaint: str, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.socket.connect", run_page.local_only)
    with pytest.raises((run_page.Wrong, ZeroDivisionError, ConnectionRefusedError), match=complaint):
        run_page.run(page)


def test_a_block_may_await(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```python\nimport asyncio\nawait asyncio.sleep(0)\nprint('done')\n```\n```output\ndone\n```")
    assert run_page.run(page) == 1
