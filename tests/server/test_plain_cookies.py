"""What a browser sends as cookies is read in time that grows with its length: Python's reader undoes backslashes."""

from __future__ import annotations

from circumspect.server.plain_cookies import PlainCookies


async def seen_by(*headers: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    seen: list[tuple[bytes, bytes]] = []

    async def app(scope, receive, send):
        seen.extend(scope["headers"])

    await PlainCookies(app)({"type": "http", "headers": list(headers)}, None, None)
    return seen


async def test_cookies_have_no_backslashes_and_other_headers_keep_theirs():
    long = b'a="' + b'\\"' * 30_000 + b'"; b=c'
    seen = await seen_by((b"cookie", long), (b"x-other", b"a\\b"), (b"cookie", b"plain=1"))
    assert seen == [(b"cookie", long.replace(b"\\", b"")), (b"x-other", b"a\\b"), (b"cookie", b"plain=1")]
