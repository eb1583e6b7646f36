"""CodeMirror, the policy editor: packages of the npm registry in, one script for browsers out. No Node.

Its packages are modules of plain JavaScript. pyproject.toml names each with its version and its sha512, in the order in
which they import one another. They come from where npm is set up to look, or from `NPM_CONFIG_REGISTRY`. Where there is
neither, or nobody answers, the build goes on without them, and the editor is a text field. See docs/decisions/0022.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

EDITOR = "codemirror.js"
SECONDS = 15.0

Pins = Mapping[str, tuple[str, str]]
"""Version and sha512 (as npm writes it) of each package."""


def find_registry() -> str:
    """Without a stroke at its end; empty where nobody says which."""
    named = os.environ.get("NPM_CONFIG_REGISTRY", "")
    if not named and (npm := shutil.which("npm")):
        try:
            asked = [npm, "config", "get", "registry"]
            named = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=True).stdout  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            return ""
    return named.strip().rstrip("/")


def fetch(address: str) -> bytes:
    if not address.startswith(("https://", "http://")):
        raise OSError("it is no address of a registry")
    with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # noqa: S310
        content: bytes = answer.read()
    return content


def put_editor(folder: Path, pins: Pins, fetch: Callable[[str], bytes] = fetch) -> str:
    """One script of all packages, and the same packed; made anew when a pin has changed. Why not, where it cannot be.

    A package with another hash is not a matter of the network: it stops the build.
    """
    mark = f"/* {hashlib.sha256(json.dumps([SHAPE, *pins.items()]).encode()).hexdigest()} */\n"
    script = folder / EDITOR
    if script.is_file() and script.read_text("utf-8").startswith(mark):
        return ""
    if not (registry := find_registry()):
        return "npm is not installed or does not say which registry it uses, and NPM_CONFIG_REGISTRY is not set"
    parts: list[str] = []
    for name, (version, integrity) in pins.items():
        address = f"{registry}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        try:
            content = fetch(address)
        except OSError as problem:
            return f"{address} cannot be read ({problem})"
        if (found := "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()) != integrity:
            raise RuntimeError(f"{address} has the hash {found}, and pyproject.toml says {integrity}")
        parts.append(link_module(name, version, *read_package(content)))
    written = f"{mark}{BEGIN}{''.join(parts)}{END}".encode()
    script.write_bytes(written)
    (folder / f"{EDITOR}.gz").write_bytes(gzip.compress(written, mtime=0))
    return ""


SHAPE = 1
"""Another number makes the script anew though no pin has changed."""
BEGIN = '"use strict";\nglobalThis.codemirror = (() => {\nconst modules = {};\n'
END = "return modules;\n})();\n"


def read_package(packed: bytes) -> tuple[str, str]:
    """The module of a package as npm publishes it, and its licence."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:

        def text(path: str) -> str:
            file = archive.extractfile(f"package/{path}")
            assert file is not None, path
            return file.read().decode()

        about = json.loads(text("package.json"))
        exported = about.get("exports")
        entry = exported.get("import") if isinstance(exported, dict) else None
        names = [name.removeprefix("package/") for name in archive.getnames()]
        licence = next((name for name in names if re.fullmatch(r"licen[cs]e(\..+)?", name, re.I)), "")
        return text((entry or about["module"]).removeprefix("./")), text(licence) if licence else about["license"]


def link_module(name: str, version: str, code: str, licence: str) -> str:
    """A module as a function: what it imports is looked up among those before it, what it exports is returned.

    Comments that fill lines of their own are left out; they are half of the text.
    """
    exported: dict[str, str] = {}

    def take(found: re.Match[str]) -> str:
        names, source = found["names"].strip(), f"modules[{json.dumps(found['source'])}]"
        if not names.startswith("{"):
            return f"const {names} = {source}.default;"
        return f"const {re.sub(r' as ', ': ', names)} = {source};"

    def give(found: re.Match[str]) -> str:
        for one in filter(None, (part.strip() for part in found["names"].split(","))):
            local, _, public = one.partition(" as ")
            place = f"modules[{json.dumps(found['source'])}]." if found["source"] else ""
            exported[public or local] = place + local
        return ""

    def declare(found: re.Match[str]) -> str:
        exported["default" if found["default"] else found["name"]] = found["name"]
        return f"{found['kind']} {found['name']}"

    code = re.sub(r"^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*\n|^[ \t]*//.*\n", "", code, flags=re.M)
    code = re.sub(r"^import (?P<names>[^'\"]+?) from ['\"](?P<source>[^'\"]+)['\"];?", take, code, flags=re.M)
    kinds = r"(?P<kind>function|class|const|let|var)"
    code = re.sub(rf"^export (?P<default>default )?{kinds} (?P<name>[\w$]+)", declare, code, flags=re.M)
    code = re.sub(r"^export \{(?P<names>[^}]*)\}(?: from ['\"](?P<source>[^'\"]+)['\"])?;?", give, code, flags=re.M)
    if left := re.search(r"^(?:import|export)\b.*", code, re.M):
        raise RuntimeError(f"{name} {version} has a line that cannot be linked: {left[0]}")
    given = ", ".join(f"{json.dumps(public)}: {local}" for public, local in exported.items())
    about = " ".join(licence.replace("*/", "").split())
    head = f"/* {name} {version}. {about} */\nmodules[{json.dumps(name)}] = (() => {{\n"
    return f"{head}{code}\nreturn {{{given}}};\n}})();\n"
