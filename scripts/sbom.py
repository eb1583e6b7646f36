"""The packages that an installation brings, as CycloneDX: `python -m scripts.sbom FILE EXTRA…`.

What is listed is what is installed here and reachable from our own requirements and those extras, and what the build
packs into our own wheel for the console; developers' tools are not. No time and no random number is in it, so that the
same packages give the same file.
"""

from __future__ import annotations

import base64
import json
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = "circumspect"
PACKED = "circumspect:packed"
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def find_packages(name: str, extras: Iterable[str]) -> dict[str, set[str]]:
    """By the name of each package, those that it needs. Extras count only where they were asked for."""
    found: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        package, extra = waiting.pop()
        if (package, extra) in seen:
            continue
        seen.add((package, extra))
        try:
            wanted = [Requirement(text) for text in distribution(package).requires or ()]
        except PackageNotFoundError:
            continue  # for another system, or not installed here
        needs = found.setdefault(package, set())
        for one in wanted:
            other = canonicalize_name(one.name)
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                waiting += [(other, more) for more in ("", *one.extras)]
                needs.add(other)
    return {package: needs & found.keys() - {package} for package, needs in found.items()}


def describe_package(about: Distribution) -> dict[str, object]:
    name = canonicalize_name(about.metadata["Name"])
    where = f"pkg:pypi/{name}@{about.version}"
    told: dict[str, object] = {
        "type": "library",
        "bom-ref": where,
        "name": name,
        "version": about.version,
        "purl": where,
    }
    if expression := about.metadata.get("License-Expression"):
        told["licenses"] = [{"expression": expression}]
    elif (text := about.metadata.get("License")) and "\n" not in text:
        told["licenses"] = [{"license": {"name": text}}]
    return told


def describe_packed_files() -> list[dict[str, object]]:
    """What `hatch_build.py` puts into our wheel: htmx and the icons from PyPI's packages, the editor's from npm's."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))
    found: list[dict[str, object]] = []
    for text in project["build-system"]["requires"]:
        wanted = Requirement(text)
        for pin in wanted.specifier:
            if pin.operator == "==":
                purl = f"pkg:pypi/{canonicalize_name(wanted.name)}@{pin.version}"
                found.append({"name": wanted.name, "version": pin.version, "purl": purl})
    for name, pinned in project["tool"]["hatch"]["build"]["hooks"]["custom"]["modules"].items():
        digest = base64.b64decode(pinned["integrity"].removeprefix("sha512-")).hex()
        hashes = [{"alg": "SHA-512", "content": digest}]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{pinned['version']}"
        found.append({"name": name, "version": pinned["version"], "purl": purl, "hashes": hashes})
    return [{"type": "library", "bom-ref": f"{PACKED}:{one['purl']}"} | one for one in found]


def describe_installation(extras: Iterable[str]) -> dict[str, Any]:
    packages = find_packages(OURS, extras)
    told = {name: describe_package(distribution(name)) for name in sorted(packages)}
    packed = describe_packed_files()
    references = {name: [str(told[other]["bom-ref"]) for other in needs] for name, needs in packages.items()}
    references[OURS] += [str(one["bom-ref"]) for one in packed]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": told[OURS] | {"type": "application"}},
        "components": [one for name, one in told.items() if name != OURS] + packed,
        "dependencies": [{"ref": told[name]["bom-ref"], "dependsOn": sorted(references[name])} for name in told]
        + [{"ref": one["bom-ref"], "dependsOn": []} for one in packed],
    }


def main() -> None:
    file, extras = Path(sys.argv[1]), sys.argv[2:]
    file.parent.mkdir(parents=True, exist_ok=True)
    bill = describe_installation(extras)
    file.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    print(f"{file} names {len(bill['components'])} packages.")


if __name__ == "__main__":
    main()
