"""The list of packages is what CycloneDX says such a list is, and forgets none that the image would bring."""

from __future__ import annotations

import base64
import json
import re
import tomllib
from importlib import resources
from importlib.metadata import distribution

import pytest
from packaging.utils import canonicalize_name
from scripts.sbom import describe_installation, find_packages
from tests.ops.containerfile import ROOT, read_containerfile

EXTRAS = next(
    found[1].split(",") for one in read_containerfile() if (found := re.search(r"circumspect\[([\w,-]+)\] @", one.text))
)

MODULES = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["hooks"]["custom"][
    "modules"
]


@pytest.fixture(scope="module")
def bill():
    return describe_installation(EXTRAS)


@pytest.fixture(scope="module")
def installed(bill):
    """Those that are installed as packages, not packed into ours."""
    return [one for one in bill["components"] if one["bom-ref"] == one["purl"]]


def test_it_keeps_to_the_schema_of_cyclonedx(bill):
    jsonschema = pytest.importorskip("jsonschema")
    referencing = pytest.importorskip("referencing")
    folder = resources.files("cyclonedx.schema._res")
    schemas = {
        name: json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text("utf-8"))
        for name in ("bom-1.6", "spdx", "jsf-0.82")
    }
    registry = referencing.Registry().with_contents([(schema["$id"], schema) for schema in schemas.values()])
    jsonschema.Draft7Validator(schemas["bom-1.6"], registry=registry).validate(bill)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schemas["bom-1.6"], registry=registry).validate(bill | {"components": [{}]})


def test_it_has_what_the_extras_bring_and_no_tool_of_ours(installed):
    names = {one["name"] for one in installed}
    assert names >= {
        "pydantic",
        "pydantic-core",
        "fastapi",
        "starlette",
        "psycopg",
        "psycopg-binary",
        "redis",
        "cryptography",
    }
    assert not names & {"pytest", "mypy", "ruff", "circumspect", "langchain"}
    assert all(one["version"] == distribution(one["name"]).version for one in installed)


def test_it_has_what_the_build_packs_into_our_wheel(bill):
    packed = {one["purl"]: one for one in bill["components"] if one["bom-ref"] != one["purl"]}
    assert {purl.rpartition("@")[0] for purl in packed} > {"pkg:pypi/lucide", "pkg:npm/%40codemirror/view"}
    view = packed[f"pkg:npm/%40codemirror/view@{MODULES['@codemirror/view']['version']}"]
    integrity = base64.b64encode(bytes.fromhex(view["hashes"][0]["content"])).decode()
    assert f"sha512-{integrity}" == MODULES["@codemirror/view"]["integrity"]
    assert len(packed) == len(MODULES) + 2, "htmx and the icons"
    ours = next(one for one in bill["dependencies"] if one["ref"] == bill["metadata"]["component"]["bom-ref"])
    assert {one["bom-ref"] for one in packed.values()} <= set(ours["dependsOn"])


def test_every_package_in_it_is_pinned(installed):
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    assert {one["name"] for one in installed} <= pinned


def test_the_same_packages_give_the_same_list(bill):
    assert json.dumps(describe_installation(EXTRAS)) == json.dumps(bill)
    references = {one["ref"] for one in bill["dependencies"]}
    assert all(set(one["dependsOn"]) <= references for one in bill["dependencies"])


def test_an_extra_that_nobody_asked_for_is_not_in_it():
    assert "psycopg" not in find_packages("circumspect", ["server"])


def test_make_lists_what_the_image_installs():
    made = re.search(r"scripts\.sbom dist/sbom\.cdx\.json (.+)", (ROOT / "Makefile").read_text("utf-8"))
    assert made
    assert set(made[1].split()) == set(EXTRAS)
