"""A query leaves the house on one line, not too long, and without the names of what is inside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.web.search.queries import LONGEST, tidy, without_internal, without_sites

CRM = "http://crm.corp.internal:8443/customers/7"


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("error 500 on crm.corp.internal login", "error 500 on login"),
        ("CRM.corp.INTERNAL:8443 timeout", "timeout"),
        ("timeout (crm.corp.internal)", "timeout"),
        ("what is crm.corp.internal's certificate", "what is certificate"),
        ("docs/crm.corp.internal setup", "setup"),
        ("api.crm.corp.internal setup", "setup"),
        ("corp.internal wildcard certificate", "wildcard certificate"),
        ("mail to admin@crm.corp.internal bounces", "mail to bounces"),
        ("site:crm.corp.internal refunds", "refunds"),
        ("refunds -site:wiki", "refunds"),
        ("see http://wiki/Refunds for refunds", "see for refunds"),
        ("open http://10.0.0.5/admin", "open"),
        ("url=http://jira.lan/X-1 broken", "broken"),
        ("what does internal mean", "what does internal mean"),
        ("config.json syntax in foo.py", "config.json syntax in foo.py"),
    ],
)
def test_what_names_the_house_is_left_out(query: str, sent: str):
    assert without_internal(query, CRM) == sent


@pytest.mark.parametrize(
    ("query", "page", "sent"),
    [
        ("wiki markup", "http://wiki/Start", "wiki markup"),
        ("wiki/Start is empty", "http://wiki/Start", "is empty"),
        ("localhost refused to connect", "http://localhost:3000/", "localhost refused to connect"),
        ("localhost:3000 refused to connect", "http://localhost:3000/", "refused to connect"),
        ("router 192.168.7.13 login", "http://192.168.7.13/", "router login"),
        ("port of [fd00::7]:8080", "http://[fd00::7]:8080/", "port of"),
    ],
)
def test_the_host_of_an_internal_page_goes_but_not_the_plain_word(query: str, page: str, sent: str):
    assert without_internal(query, page) == sent


def test_a_public_page_may_be_named():
    said = "example.com refunds site:example.com https://example.com/help"
    assert without_internal(said, "https://example.com/") == said


def test_what_follows_the_question_mark_of_a_link_stays_in_the_house():
    said = "what is https://example.com/reset?token=s3cret&mail=a@b.c and https://example.com/a#x=1"
    assert without_internal(said, "") == "what is https://example.com/reset and https://example.com/a"
    assert without_internal("example.com/reset?token=s3cret fails. why?", "") == "example.com/reset fails. why?"


def test_a_link_with_a_password_stays_in_the_house():
    assert without_internal("login at https://me:pw@example.com/ fails", "") == "login at fails"
    assert without_internal("profile https://example.com/@me", "") == "profile https://example.com/@me"


def test_a_query_is_one_clean_line():
    assert tidy(" a\n b\t\x00c\u200b\u202e d \U000e0041") == "a b c d"


def test_a_long_query_ends_at_a_word():
    assert tidy("word " * 200) == " ".join(["word"] * 80)
    assert tidy("x" * 900) == "x" * LONGEST


def test_two_limits_to_a_site_are_one_too_many():
    assert without_sites("site:a.com refunds -site:b.com inurl:help") == "refunds"


@given(st.text(), st.sampled_from([CRM, "http://10.0.0.5/", "https://example.com/", "", "no url"]))
def test_no_query_breaks_it_and_none_names_the_page_inside(query: str, page: str):
    sent = without_internal(f"{query} crm.corp.internal {query}", page)
    assert len(sent) <= LONGEST
    assert page != CRM or "crm.corp.internal" not in sent.lower()
