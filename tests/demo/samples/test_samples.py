"""The three sample tenants: real texts, the same facts, and a policy that covers every tool."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from circumspect.demo import samples
from circumspect.errors import UnknownTenant
from circumspect.values import Business

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)
LETTERS = {"en": "[A-Za-z]", "he": "[א-ת]", "ru": "[А-яЁё]"}
WORDS = {"en": (1200, 1500), "he": (900, 1200), "ru": (1000, 1300)}


def loaded() -> list[samples.Sample]:
    return [samples.load(name, directory=None, now=NOW) for name in samples.names()]


def texts(business: Business) -> dict[str, str]:
    named = {"description": business.description, "hours": business.hours, "about": business.about}
    named |= {"contact": business.contact, "instructions": business.instructions, "name": business.name}
    named |= {f"policies.{name}": text for name, text in business.policies.items()}
    for number, faq in enumerate(business.faqs):
        named |= {f"faq.{number}.q": faq.question, f"faq.{number}.a": faq.answer}
    return named


def plain(text: str) -> str:
    """Without addresses and names that are written in Latin letters everywhere."""
    return re.sub(r"\S+@\S+|PayPal|WhatsApp|Kestrel & Kettle Ltd", "", text)


def test_there_are_three_shops_on_the_adaptive_plan() -> None:
    tenants = [sample.tenant for sample in loaded()]
    assert [(tenant.id, tenant.language) for tenant in tenants] == [
        ("shop", "en"),
        ("shop-he", "he"),
        ("shop-ru", "ru"),
    ]
    assert all((tenant.plan.name, tenant.plan.mode) == ("pro", "adaptive") for tenant in tenants)
    assert all(tenant.tools is None for tenant in tenants)


def test_an_unknown_sample_is_refused_with_the_names_of_the_others() -> None:
    with pytest.raises(UnknownTenant, match="shop, shop-he, shop-ru"):
        samples.load("Shop", directory=None, now=NOW)


def test_every_part_of_the_business_is_filled() -> None:
    for sample in loaded():
        business = sample.tenant.business
        assert business.policies.keys() == {"returns", "shipping", "privacy", "terms"}
        assert all(texts(business).values())
        assert len(business.faqs) >= 10
        assert business.phone == "+972-4-555-0134"
        assert business.email == "hello@kestrelkettle.example"
        assert business.phone in business.contact
        assert business.email in business.contact


def test_the_short_description_is_short_and_the_whole_is_about_two_thousand_tokens() -> None:
    """G4: the benchmark counts tokens; words keep the texts near what it measured."""
    for sample in loaded():
        fewest, most = WORDS[sample.tenant.language]
        assert fewest <= sum(len(text.split()) for text in texts(sample.tenant.business).values()) <= most
        assert len(sample.tenant.business.description.split()) <= 25


def test_hebrew_is_hebrew_and_russian_is_russian() -> None:
    for sample in loaded():
        for name, text in texts(sample.tenant.business).items():
            letters = re.findall(r"[^\W\d_]", plain(text))
            own = re.findall(LETTERS[sample.tenant.language], plain(text))
            assert len(own) == len(letters), (sample.tenant.id, name)


def test_the_three_shops_state_the_same_facts() -> None:
    """Every number of a text is in the same text of the other languages."""
    english, hebrew, russian = (texts(sample.tenant.business) for sample in loaded())
    assert english.keys() == hebrew.keys() == russian.keys()
    for name in english:
        numbers = [
            sorted(re.findall(r"\d+", re.sub(r"(?<=\d)[,  ](?=\d{3})", "", text[name])))
            for text in (english, hebrew, russian)
        ]
        assert numbers[0] == numbers[1] == numbers[2], name


def test_texts_have_no_line_breaks_within_a_sentence() -> None:
    for sample in loaded():
        for name, text in texts(sample.tenant.business).items():
            assert all(line.endswith((".", "?")) for line in text.split("\n")[:-1]), (sample.tenant.id, name)


def test_the_policy_covers_every_tool_with_the_effect_the_tool_declares() -> None:
    caps = {
        "cancel_order": 0.6,
        "refund": 0.5,
        "delete_account": 0.4,
        "book_appointment": 0.7,
        "get_order_status": 0.9,
        "check_inventory": 0.9,
    }
    for sample in loaded():
        policy = yaml.safe_load(sample.policy_path.read_text(encoding="utf-8"))
        assert policy["version"] == 1
        specs = sample.tools.specs()
        assert policy["tools"].keys() == specs.keys()
        for name, rules in policy["tools"].items():
            assert rules["effect"] == specs[name].effect
            assert rules.get("confirm") == "always" or rules["effect"] != "destructive"
            assert rules["confidence_cap"] == caps.get(name, rules["confidence_cap"])


async def test_each_sample_has_a_database_of_its_own(tmp_path: Path) -> None:
    shops = [samples.load(name, directory=tmp_path / "data", now=NOW) for name in samples.names()]
    assert not (tmp_path / "data").exists()
    await shops[0].tools.call("cancel_order", {"order_id": "12345"}, "k")
    assert shops[1].backend.order("12345").status == "processing"
    assert shops[2].backend.order("12345").status == "processing"
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [
        "sample-shop-he.db",
        "sample-shop-ru.db",
        "sample-shop.db",
    ]


def test_naming_the_samples_loads_nothing_heavy() -> None:
    program = (
        "import sys; from circumspect import samples; samples.names();"
        "print([name for name in ('pydantic', 'yaml', 'sqlite3', 'asyncio') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_importing_the_decorator_does_not_load_pydantic() -> None:
    program = "import sys; import circumspect.tools; print('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
