"""The policy editor is made of pinned packages when the package is built, and the build goes on where it cannot be."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))
from hatch_editor import EDITOR, link_module, put_editor  # noqa: E402


def pack(name: str, code: str) -> bytes:
    files = {
        "package/package.json": json.dumps({"name": name, "module": "dist/index.js", "license": "MIT"}),
        "package/dist/index.js": code,
        "package/LICENSE": "MIT License. Copyright (C) 2018 by somebody */ alert(1)",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            about = tarfile.TarInfo(path)
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    return packed.getvalue()


CODE = {
    "one": '/**\nSays it.\n*/\n// alone\nclass Inner {}\nfunction hidden() { return "// kept"; }\n'
    "export { Inner as Outer, hidden };\n",
    "@of/two": "import { Outer as O, hidden } from 'one';\nexport default function twice() {\n"
    "  return hidden() + hidden();\n}\nexport const made = new O();\n",
    "three": 'import two from "@of/two";\nexport { hidden } from "one";\nexport var said = two();\n',
}
PACKED = {name: pack(name, code) for name, code in CODE.items()}
PINS = {
    name: ("1.2.3", "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode())
    for name, content in PACKED.items()
}


MIRROR = "https://packages.example"


@pytest.fixture(autouse=True)
def _mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"{MIRROR}/")


def fetch(address: str) -> bytes:
    name = address.removeprefix(f"{MIRROR}/").split("/-/")[0]
    assert address.endswith(f"/-/{name.split('/')[-1]}-1.2.3.tgz")
    return PACKED[name]


def test_modules_become_one_script_that_runs(tmp_path: Path) -> None:
    assert put_editor(tmp_path, PINS, fetch) == ""
    made = (tmp_path / EDITOR).read_text("utf-8")
    assert gzip.decompress((tmp_path / f"{EDITOR}.gz").read_bytes()).decode() == made
    assert "Says it" not in made
    assert "Copyright (C) 2018 by somebody" in made, "whoever has the code has its licence"
    assert "*/ alert(1)" not in made
    if node := shutil.which("node"):
        look = "const m = codemirror; console.log(m.three.said, m.three.hidden(), m['@of/two'].made instanceof m.one.Outer)"
        done = subprocess.run([node, "-e", f"{made}\n{look}"], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "// kept// kept // kept true"


def test_a_registry_that_is_not_there_stops_nothing_and_another_hash_does(tmp_path: Path) -> None:
    def refuse(address: str) -> bytes:
        raise TimeoutError(address)

    assert "cannot be read" in put_editor(tmp_path, PINS, refuse)
    assert not (tmp_path / EDITOR).exists()
    with pytest.raises(RuntimeError, match="has the hash"):
        put_editor(tmp_path, PINS | {"one": ("1.2.3", "sha512-other")}, fetch)
    assert not (tmp_path / EDITOR).exists()
    assert put_editor(tmp_path, PINS, fetch) == ""
    assert put_editor(tmp_path, PINS, refuse) == "", "nothing is fetched while no pin changes"


def test_packages_come_from_where_npm_is_set_up_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NPM_CONFIG_REGISTRY")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "npm is not installed" in put_editor(tmp_path, PINS, fetch)
    npm = tmp_path / "npm"
    npm.write_text(f'#!/bin/sh\n[ "$*" = "config get registry" ] && echo {MIRROR}/\n', "utf-8")
    npm.chmod(0o755)
    assert put_editor(tmp_path, PINS, fetch) == ""
    (tmp_path / EDITOR).unlink()
    npm.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    assert "npm is not installed" in put_editor(tmp_path, PINS, fetch)


def test_what_cannot_be_linked_is_not_shipped() -> None:
    with pytest.raises(RuntimeError, match="cannot be linked"):
        link_module("x", "1", "export * from 'y';\n", "MIT")


def test_every_package_is_pinned_after_those_that_it_needs() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    pins = about["tool"]["hatch"]["build"]["hooks"]["custom"]["modules"]
    assert all(len(base64.b64decode(pin["integrity"].removeprefix("sha512-"))) == 64 for pin in pins.values())
    names = list(pins)
    assert names.index("@codemirror/state") < names.index("@codemirror/view") < names.index("@codemirror/autocomplete")
