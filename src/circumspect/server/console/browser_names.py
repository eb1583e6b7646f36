"""What a browser sends about itself -> what people call it, such as "Firefox 141 · Windows".

Of the many names in a User-Agent the most particular one counts: nearly all of them say Mozilla and Safari as well.
"""

from __future__ import annotations

import re

_BROWSERS = (
    (re.compile(r"\bEdg(?:e|A|iOS)?/(\d+)"), "Edge"),
    (re.compile(r"\b(?:OPR|Opera)/(\d+)"), "Opera"),
    (re.compile(r"\bSamsungBrowser/(\d+)"), "Samsung Internet"),
    (re.compile(r"\b(?:Firefox|FxiOS)/(\d+)"), "Firefox"),
    (re.compile(r"\b(?:Headless)?(?:Chrome|CriOS)/(\d+)"), "Chrome"),
    (re.compile(r"\bVersion/(\d++)[\d.]*+(?: Mobile/\w++)? Safari/"), "Safari"),
)
_SYSTEMS = (
    (re.compile(r"\bAndroid\b"), "Android"),
    (re.compile(r"\b(?:iPhone|iPad)\b"), "iOS"),
    (re.compile(r"\bWindows\b"), "Windows"),
    (re.compile(r"\bMac OS X\b"), "macOS"),
    (re.compile(r"\bCrOS\b"), "ChromeOS"),
    (re.compile(r"\bLinux\b"), "Linux"),
)


def name_browser(sent: str) -> str:
    """Programs, and browsers that nobody knows, keep what they call themselves."""
    found = next(((name, one[1]) for pattern, name in _BROWSERS if (one := pattern.search(sent))), None)
    if found is None:
        return sent
    system = next((name for pattern, name in _SYSTEMS if pattern.search(sent)), "")
    return " ".join(found) + (f" · {system}" if system else "")
