"""The list of packages is what CycloneDX says such a list is, and forgets none that the image would bring."""

from __future__ import annotations

import json
import re
from importlib import resources
from importlib.metadata import distribution

import pytest
from packaging.utils import canonicalize_name
from scripts.sbom import describe_installation, find_packages
from tests.ops.containerfile import ROOT, read_containerfile

EXTRAS = next(
    found[1].split(",") for one in read_containerfile() if (found := re.search(r"'\.\[([\w,-]+)\]'", one.text))
)


@pytest.fixture(scope="module")
def bill():
    return describe_installation(EXTRAS)


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


def test_it_has_what_the_extras_bring_and_no_tool_of_ours(bill):
    names = {one["name"] for one in bill["components"]}
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
    assert all(one["version"] == distribution(one["name"]).version for one in bill["components"])


def test_every_package_in_it_is_pinned(bill):
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    assert {one["name"] for one in bill["components"]} <= pinned


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
