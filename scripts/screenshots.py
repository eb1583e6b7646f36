"""Screenshots of the console for the README and the docs, taken from the running product.

    python -m scripts.screenshots docs/img

Starts a server on a database of its own with the sample shops and the demo data, signs in with a real browser and
photographs the main pages, each in 256 colours: these are pages, not photographs. Needs Chromium (on the path, or
CHROMIUM=/path/to/it) and the packages playwright and Pillow.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from circumspect.web.browser.chromium import PROGRAMS

PASSWORD = "screenshots only"  # noqa: S105 - of a server that lives for a minute
PORT = 8791
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"]
PAGES = {
    "console-overview": ("/overview", "en", "light", 1280, 1000),
    "console-overview-he": ("/overview", "he", "dark", 1280, 1000),
    "console-conversation": ("/conversations/shop/demo-shop-002?debug=1", "en", "light", 1280, 1000),
    "console-queue": ("/", "en", "light", 1280, 900),
    "console-escalations": ("/escalations", "en", "light", 1280, 700),
    "console-approval": ("@/approvals?tenant=shop", "en", "dark", 1280, 800),
    "console-policy": ("/policies/shop", "en", "light", 1280, 1000),
    "console-usage": ("/usage", "en", "light", 1280, 900),
    "console-review": ("@/reviews", "en", "light", 1280, 1000),
    "console-playground": ("!/playground?tenant=shop", "en", "light", 1280, 900),
    "console-customer-he": ("/customer?tenant=shop-he", "he", "light", 1280, 900),
    "console-phone": ("/conversations/shop-ru/demo-shop-ru-002?debug=1", "ru", "light", 390, 1000),
}
"""Name: path (with @ the first row of that list, with ! a conversation that begins there), language, theme, width,
height."""


def browser() -> str:
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not found:
        raise SystemExit("There is no Chromium. Install it, or name it: CHROMIUM=/path/to/chromium.")
    return found


@contextmanager
def server() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/demo.db"
        command = [sys.executable, "-m", "circumspect"]
        run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
        subprocess.run([*command, "demo-data", "add", "--database", database], **run)  # noqa: S603
        named = ["operators", "add", "noa", "--role", "admin", "--password-stdin", "--database", database]
        subprocess.run([*command, *named], input=f"{PASSWORD}\n".encode(), **run)  # noqa: S603
        served = subprocess.Popen(  # noqa: S603
            [*command, "serve", "--database", database, "--port", str(PORT)], cwd=folder, stdout=subprocess.DEVNULL
        )
        url = f"http://127.0.0.1:{PORT}"
        try:
            _wait(f"{url}/readyz")
            yield url
        finally:
            served.terminate()
            served.wait(30)


def _wait(url: str) -> None:
    for _ in range(900):  # on a busy machine it takes its time
        try:
            urllib.request.urlopen(url, timeout=1)  # noqa: S310
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("The server did not start.")


def photograph(url: str, folder: Path, only: tuple[str, ...] = ()) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser(), args=FLAGS)
        for name, (path, language, theme, width, height) in PAGES.items():
            if only and name not in only:
                continue
            size: Any = {"width": width, "height": height}
            context = chromium.new_context(viewport=size, color_scheme=theme, locale=language, base_url=url)
            page = context.new_page()
            page.goto("/login")
            page.fill("input[name=name]", "noa")
            page.fill("input[name=password]", PASSWORD)
            page.click("button.primary")
            page.wait_for_url(f"{url}/")
            answer = page.goto(path.lstrip("@!"))
            if answer is None or not answer.ok:
                raise SystemExit(f"{path} has no page: {answer.status if answer else 'no answer'}")
            if path.startswith("@"):
                page.click("#found tbody a >> nth=0")
            if path.startswith("!"):
                play(page)
            page.wait_for_load_state("load")
            page.wait_for_timeout(600)
            write(page.screenshot(), folder / f"{name}.png")
            print(folder / f"{name}.png")
            context.close()
        chromium.close()


def play(page: Any) -> None:
    page.click("main form button.primary")
    page.wait_for_load_state()
    page.fill("#play textarea", "cancel order 12346")
    page.press("#play textarea", "Enter")
    page.click("#choice [data-answer=approve]")
    page.wait_for_selector("#inside .step.tool")


def write(photograph: bytes, path: Path) -> None:
    from PIL import Image

    with Image.open(io.BytesIO(photograph)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img")
    folder.mkdir(parents=True, exist_ok=True)
    with server() as url:
        photograph(url, folder, tuple(sys.argv[2:]))


if __name__ == "__main__":
    main()
