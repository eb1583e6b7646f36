"""What is called on behalf of a tenant reaches the public internet and nothing else, whatever a URL or a name claims."""

from __future__ import annotations

import gzip
import ipaddress
import ssl

import httpx2
import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.raw_server import RawServer, answer

from circumspect import outgoing
from circumspect.errors import ConfigError
from circumspect.outgoing import Allowed, BlockedAddress, UnusableAnswer, check_url

PRIVATE = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7",
    "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "192.88.99.1",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "100::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:80ff:fffe", "3fff::1", "5f00::1",
]  # fmt: skip
SPELLED = [
    "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0", "127.0.0.1.", "[::1]", "[::ffff:127.0.0.1]",
    "[64:ff9b::169.254.169.254]", "017700000001", "0xA9FEA9FE",
]  # fmt: skip


def resolves(**names: list[str]):
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return names[host.replace(".", "_").replace("-", "_")]

    return resolve, asked


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_refused(address: str):
    with pytest.raises(BlockedAddress, match="not on the public internet"):
        Allowed().check("name.example", address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8", "172.32.0.1", "100.128.0.1"],
)
def test_a_public_address_is_let_through(address: str):
    assert Allowed().check("name.example", address) == address


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_gets_in_by_being_wrapped_into_ipv6(address: ipaddress.IPv4Address):
    def refused(text: str) -> bool:
        try:
            Allowed().check("x", text)
        except BlockedAddress:
            return True
        return False

    bare = refused(str(address))
    assert refused(f"::ffff:{address}") is bare
    assert refused(str(ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(address)))) is bare
    if (
        address.is_private
        or address.is_multicast
        or address.is_reserved
        or address.is_loopback
        or address.is_link_local
    ):
        assert bare


@pytest.mark.parametrize("host", SPELLED)
async def test_a_private_address_is_refused_however_it_is_spelled(host: str):
    with pytest.raises(BlockedAddress):
        check_url(f"http://{host}/")
    async with outgoing.client() as client:
        with pytest.raises((BlockedAddress, httpx2.InvalidURL)):
            await client.get(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    ["ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "http:///path", "/path", "javascript:1"],
)
async def test_only_http_and_https_are_called(url: str):
    with pytest.raises(BlockedAddress):
        check_url(url)
    async with outgoing.client() as client:
        with pytest.raises((BlockedAddress, httpx2.UnsupportedProtocol)):
            await client.get(url)


def test_a_url_with_a_password_is_refused_without_repeating_it():
    with pytest.raises(BlockedAddress) as refused:
        check_url("https://shop:hunter2@example.com/")
    assert "hunter2" not in str(refused.value)
    assert "auth" in refused.value.fix


@pytest.mark.parametrize("entry", ["", "crm.internal:80", "http://crm", "*.internal", "a b", "10.0.0.0/33"])
def test_an_exception_that_means_nothing_is_refused(entry: str):
    with pytest.raises(ConfigError, match="no host, address or network"):
        Allowed.of([entry])


async def test_exceptions_are_addresses_networks_and_names():
    resolve, _ = resolves(crm_internal=["127.0.0.1"], other_internal=["127.0.0.1"])
    async with RawServer() as server:
        for allow in (("127.0.0.1",), ("127.0.0.0/8",), ("crm.internal",), ("CRM.internal.",), "127.0.0.1"):
            async with outgoing.client(allow=allow, resolve=resolve) as client:
                assert (await client.get(f"http://crm.internal:{server.port}/")).json() == {"ok": True}
        async with outgoing.client(allow=("crm.internal",), resolve=resolve) as client:
            with pytest.raises(BlockedAddress, match=r"other\.internal"):
                await client.get(f"http://other.internal:{server.port}/")


async def test_a_name_that_leads_inside_is_refused_after_it_was_resolved():
    async with RawServer() as server:
        async with outgoing.client() as client:
            with pytest.raises(BlockedAddress, match="localhost"):
                await client.get(f"http://localhost:{server.port}/")
        assert server.asked == []


async def test_one_private_address_among_public_ones_refuses_the_name():
    resolve, _ = resolves(two_example=["8.8.8.8", "127.0.0.1"])
    async with outgoing.client(resolve=resolve) as client:
        with pytest.raises(BlockedAddress):
            await client.get("http://two.example/")


async def test_the_connection_goes_to_the_address_that_was_checked():
    """DNS rebinding: the name answers with something else the second time it is asked."""
    turns = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2"]])
    asked = 0

    async def rebinding(host: str, port: int) -> list[str]:
        nonlocal asked
        asked += 1
        return next(turns)

    async with RawServer() as checked, RawServer(host="127.0.0.2", port=checked.port) as other:
        async with outgoing.client(allow=("127.0.0.1",), resolve=rebinding) as client:
            await client.get(f"http://rebind.example:{checked.port}/one")
            assert asked == 1
            with pytest.raises(BlockedAddress):
                await client.get(f"http://rebind.example:{checked.port}/two")
        assert [one.target for one in checked.asked] == ["/one"]
        assert checked.asked[0].headers["host"] == f"rebind.example:{checked.port}"
        assert other.asked == []


async def test_an_address_that_does_not_answer_is_followed_by_the_next_one():
    resolve, _ = resolves(two_internal=["127.0.0.3", "127.0.0.1"])
    async with RawServer() as server, outgoing.client(allow=("127.0.0.0/8",), resolve=resolve) as client:
        assert (await client.get(f"http://two.internal:{server.port}/")).status_code == 200


async def test_redirects_are_not_followed_unless_asked_for():
    async with RawServer(answer(302, location="/elsewhere")) as server, outgoing.client(allow="127.0.0.1") as client:
        assert (await client.get(server.url)).status_code == 302
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    "where", ["http://127.0.0.2:{port}/", "http://2130706434:{port}/", "http://inside.example:{port}/"]
)
async def test_a_redirect_inside_is_refused_at_that_hop(where: str):
    resolve, _ = resolves(inside_example=["127.0.0.2"])
    async with RawServer() as inside:
        async with (
            RawServer(answer(302, location=where.format(port=inside.port))) as server,
            outgoing.client(allow=("127.0.0.1",), follow_redirects=True, resolve=resolve) as client,
        ):
            with pytest.raises(BlockedAddress):
                await client.get(server.url)
        assert inside.asked == []


async def test_a_redirect_to_another_scheme_or_with_a_password_is_refused():
    for where in ("file:///etc/passwd", "http://a:b@127.0.0.1/"):
        async with (
            RawServer(answer(302, location=where)) as server,
            outgoing.client(allow=("127.0.0.1",), follow_redirects=True) as client,
        ):
            with pytest.raises((BlockedAddress, httpx2.UnsupportedProtocol)):
                await client.get(server.url)


async def test_sealed_values_go_to_their_own_origin_only():
    async with RawServer() as other:
        async with (
            RawServer(answer(302, location=f"http://127.0.0.1:{other.port}/x")) as server,
            outgoing.client(allow=("127.0.0.1",), follow_redirects=True) as client,
        ):
            sealed = outgoing.seal(server.url, headers={"X-Key": "hush"}, query={"token": "hush"})
            response = await client.get(server.url + "/a?b=1", extensions=sealed)
        assert server.asked[0].target == "/a?b=1&token=hush"
        assert server.asked[0].headers["x-key"] == "hush"
        assert "x-key" not in other.asked[0].headers
        assert other.asked[0].target == "/x"
        assert "hush" not in str(response.request.url)


async def test_the_certificate_is_checked_by_name_although_the_connection_goes_by_address():
    authority = trustme.CA()
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("crm.example").configure_cert(shown)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    asked_for: list[str | None] = []
    shown.sni_callback = lambda _, name, __: asked_for.append(name)  # type: ignore[assignment]
    resolve, _ = resolves(crm_example=["127.0.0.1"], other_example=["127.0.0.1"])
    async with RawServer(tls=shown) as server:
        async with outgoing.client(allow="127.0.0.1", resolve=resolve, verify=trusting) as client:
            assert (await client.get(f"https://crm.example:{server.port}/")).status_code == 200
            with pytest.raises(httpx2.ConnectError):
                await client.get(f"https://other.example:{server.port}/")
        async with outgoing.client(allow="127.0.0.1", resolve=resolve) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get(f"https://crm.example:{server.port}/")
    assert asked_for[:2] == ["crm.example", "other.example"]


async def test_an_answer_that_is_too_large_is_not_taken():
    async def endless(asked, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
            await writer.drain()

    for reply in (answer(200, "x" * 2000), endless):
        async with RawServer(reply) as server, outgoing.client(allow="127.0.0.1", max_bytes=1000) as client:
            with pytest.raises(UnusableAnswer, match="larger than 1,000 bytes"):
                await client.get(server.url)


async def test_a_bomb_of_compressed_nothing_is_not_unpacked():
    packed = gzip.compress(b"\0" * 10_000_000)
    reply = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed) + packed
    async with RawServer(reply) as server, outgoing.client(allow="127.0.0.1") as client:
        with pytest.raises(UnusableAnswer, match="compressed"):
            await client.get(server.url)
        assert server.asked[0].headers["accept-encoding"] == "identity"


async def test_cookies_of_one_call_are_not_sent_with_the_next():
    async with (
        RawServer(answer(200, {}, set_cookie="session=1")) as server,
        outgoing.client(allow="127.0.0.1") as client,
    ):
        await client.get(server.url)
        await client.get(server.url)
        assert "cookie" not in server.asked[1].headers


async def test_the_environment_s_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch):
    async with RawServer() as proxy, RawServer() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("all_proxy", proxy.url)
        async with outgoing.client(allow="127.0.0.1") as client:
            await client.get(server.url)
        assert proxy.asked == []


async def test_a_name_that_nobody_knows_is_a_connection_that_was_not_made():
    async def nobody(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    async with outgoing.client(resolve=nobody) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get("http://nobody.example/")
