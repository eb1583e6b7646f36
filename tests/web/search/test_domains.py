"""What a search is limited to: the part of a host that somebody registered, and nothing a stranger should not know."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.web.search.domains import belongs_to, host_of, is_internal, registrable_domain

REGISTRABLE = [
    ("https://example.com/", "example.com"),
    ("https://www.example.com/a?b#c", "example.com"),
    ("https://a.b.c.example.com:8443/", "example.com"),
    ("HTTPS://WWW.Example.COM", "example.com"),
    ("https://www.example.com./", "example.com"),
    ("https://user:secret@www.example.com/", "example.com"),
    ("https://www.shop.co.uk/", "shop.co.uk"),
    ("https://gov.uk/", None),
    ("https://www.gov.uk/", "www.gov.uk"),
    ("https://co.uk/", None),
    ("https://com/", None),
    ("https://project.github.io/docs", "project.github.io"),
    ("https://deep.project.github.io/", "project.github.io"),
    ("https://github.io/", None),
    ("https://bucket.s3.amazonaws.com/x", "bucket.s3.amazonaws.com"),
    ("https://www.city.kawasaki.jp/", "city.kawasaki.jp"),
    ("https://a.b.c.kawasaki.jp/", "b.c.kawasaki.jp"),
    ("https://www.ck/", "www.ck"),
    ("https://shop.co.il/", "shop.co.il"),
    ("https://www.пример.рф/", "xn--e1afmkfd.xn--p1ai"),
    ("https://www.xn--e1afmkfd.xn--p1ai/", "xn--e1afmkfd.xn--p1ai"),
    ("https://www.עיר.ישוב.ישראל/", "xn--eebrt.xn--5dbhl8d.xn--4dbrk0ce"),
    ("https://www.straße.de/", "xn--strae-oqa.de"),
    ("https://www.例え.みんな/", "xn--r8jz45g.xn--q9jyb4c"),
    ("https://ｗｗｗ。ｅｘａｍｐｌｅ．com/", "example.com"),
    ("https://under_score.example.com/", "example.com"),
    # Addresses.
    ("http://93.184.216.34/", None),
    ("http://10.0.0.5:3000/", None),
    ("http://[2606:4700::1111]/", None),
    ("http://[fd00::1]:8080/", None),
    ("http://2130706433/", None),
    ("http://0x7f.1/", None),
    ("http://1.2.3/", None),
    # What only the house knows.
    ("http://localhost:3000/", None),
    ("http://app.localhost/", None),
    ("http://wiki/", None),
    ("http://crm.internal/", None),
    ("http://printer.local/", None),
    ("http://intranet.corp/", None),
    ("http://nas.lan/", None),
    ("http://router.home.arpa/", None),
    ("http://something.onion/", None),
    ("http://shop.test/", None),
    # No pages.
    ("", None),
    ("example.com", None),
    ("about:blank", None),
    ("file:///home/me/page.html", None),
    ("chrome-extension://abcdef/page.html", None),
    ("javascript:alert(1)", None),
    ("https://", None),
    ("https:///path", None),
    ("https://exa mple.com/", None),
    ("https://example.com:99999/", None),
    ("https://[::1", None),
    ("https://a..example.com/", None),
    ("https://evil.com\\@example.com/", None),
    ("https://exa\tmple.com/", None),
]


@pytest.mark.parametrize(("url", "domain"), REGISTRABLE)
def test_the_registrable_domain_of_a_page(url: str, domain: str | None):
    assert registrable_domain(url) == domain


@pytest.mark.parametrize(
    "host",
    ["localhost", "app.localhost", "wiki", "crm.internal", "a.b.corp", "nas.lan", "x.local", "x.home.arpa", "127.0.0.1",
     "10.0.0.5", "192.168.1.1", "172.16.9.9", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "fe80::1", "2130706433"],
)  # fmt: skip
def test_a_host_that_only_the_house_knows_is_internal(host: str):
    assert is_internal(host)


@pytest.mark.parametrize("host", ["example.com", "a.co.uk", "co.uk", "8.8.8.8", "2606:4700::1111", "x.github.io"])
def test_a_host_that_everybody_may_know_is_not_internal(host: str):
    assert not is_internal(host)


@pytest.mark.parametrize(
    ("url", "domain", "belongs"),
    [
        ("https://example.com/", "example.com", True),
        ("https://a.b.example.com:8443/x", "example.com", True),
        ("https://EXAMPLE.com./", "Example.COM", True),
        ("https://notexample.com/", "example.com", False),
        ("https://example.com.evil.net/", "example.com", False),
        ("https://evil.net/example.com", "example.com", False),
        ("https://evil.net/?u=https://example.com", "example.com", False),
        ("https://example.com@evil.net/", "example.com", False),
        ("https://evil.net\\@example.com/", "example.com", False),
        ("https://evil.net#@example.com/", "example.com", False),
        ("https://www.пример.рф/", "xn--e1afmkfd.xn--p1ai", True),
        ("https://www.xn--e1afmkfd.xn--p1ai/", "пример.рф", True),
        ("https://other.github.io/", "project.github.io", False),
        ("ftp://example.com/", "example.com", False),
        ("example.com", "example.com", False),
        ("https://example.com/", "", False),
    ],
)
def test_a_result_belongs_to_a_domain_by_its_host_and_nothing_else(url: str, domain: str, belongs: bool):
    assert belongs_to(url, domain) is belongs


@given(st.text())
def test_whatever_is_typed_has_a_domain_or_none(text: str):
    for url in (text, f"https://{text}", f"https://{text}.com/"):
        domain = registrable_domain(url)
        if domain is not None:
            assert belongs_to(url, domain)
            assert registrable_domain(f"https://{domain}/") == domain
            assert not is_internal(domain)
        host = host_of(url)
        assert host is None or host.isascii()


def test_the_list_is_read_when_it_is_needed_and_not_before():
    code = "import sys, circumspect.web.search.scoped_search; print('publicsuffixlist' in sys.modules, 'httpx2' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
