"""Documents come as files: larger than other requests, bounded, read apart, and a bad upload is answered in words."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.patience import PATIENCE, wait_until
from tests.server.house import OURS, THEIRS, House, is_a_problem

from circumspect.knowledge import read_document
from circumspect.knowledge.parse_document import MAX_CHARACTERS
from circumspect.knowledge.read_document import BOUNDS, MAX_BYTES
from circumspect.knowledge.search import Library
from circumspect.server import uploads
from circumspect.server.routes import documents
from circumspect.stores import SqlStore

LIMIT = 3_000_000
ROUTE = "/v1/admin/documents"
POLICY = b"# Claims\n\n## Signature\n\nEvery claim shall be signed by the employee.\n"
ASKED = '{"case": {"id": "C-1", "facts": {"signed": true}}, "criteria": [{"id": "K-1", "text": "It is signed."}]}'


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("uploads")
    with House(f"sqlite:///{folder}/house.db", max_upload_bytes=LIMIT) as opened:
        yield opened


@pytest.fixture
def admin(house: House) -> httpx.Client:
    return house.key(OURS, "admin")


def put(client: httpx.Client, name: str, data: bytes, media_type: str | None = None, **more: Any) -> httpx.Response:
    return client.post(ROUTE, files={"file": (name, data, media_type) if media_type else (name, data)}, **more)


def names(client: httpx.Client) -> set[str]:
    return {one["id"] for one in client.get(ROUTE).json()}


# --- to a tenant ----------------------------------------------------------------------------------------------------


def test_a_file_larger_than_any_other_request_is_stored_and_replaced(house: House, admin: httpx.Client) -> None:
    long = b"# Handbook\n\n" + b"The kettle is descaled with vinegar once a month. " * 26_000
    assert house.settings.max_body_bytes < len(long) < LIMIT
    answer = put(admin, "handbook.md", long)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["id"], made["title"], made["language"]) == ("handbook.md", "Handbook", "en")
    again = put(admin, "handbook.md", b"# Handbook\n\nThe kettle is descaled with lemon.\n")
    assert again.json()["hash"] != made["hash"]
    assert [one["id"] for one in admin.get(ROUTE).json()].count("handbook.md") == 1
    acted = [one["action"] for one in admin.get("/v1/admin/log").json()["items"]]
    assert acted[:2] == ["put_document", "put_document"]
    assert admin.delete(ROUTE, params={"id": "handbook.md"}).status_code == 204
    is_a_problem(admin.delete(ROUTE, params={"id": "handbook.md"}), 404)
    assert "handbook.md" not in names(admin)


def test_curl_sends_a_file(house: House, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("NO CURL: install it to test uploads as the page on the API shows them")
    path = tmp_path / "returns.md"
    path.write_bytes(b"# Returns\n\nA tent can be returned within 30 days.\n")
    said = subprocess.run(
        ["curl", "-sS", "-w", "%{http_code}", f"{house.url}{ROUTE}", "-F", f"file=@{path}",
         "-H", f"Authorization: Bearer {house.token(OURS, 'admin')}"],
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    ).stdout  # fmt: skip
    assert said.endswith("201"), said
    assert '"id":"returns.md"' in said.replace(" ", "")


def test_a_pdf_is_read_in_a_process_of_its_own_and_a_broken_one_is_refused(admin: httpx.Client) -> None:
    refused = put(admin, "broken.pdf", b"%PDF-1.7\n" + b"\x00" * 5_000, "application/pdf")
    is_a_problem(refused, 422)
    assert "broken.pdf" not in names(admin)


@pytest.mark.parametrize("scope", ["chat", "read", "manage"])
def test_only_who_may_change_the_tenant_says_what_is_answered(house: House, scope: str) -> None:
    is_a_problem(put(house.key(OURS, scope), "mine.md", b"# Mine"), 403)


# --- bad uploads ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "status", "problem"),
    [
        ({"json": {"file": "x"}}, 415, "not an upload"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 415, "not an upload"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=b"}}, 400, ""),
        ({"files": {"document": ("a.md", b"# A")}}, 422, "named `document`, which does not"),
        ({"files": {"request": ("a.json", b"{}")}}, 422, "named `request`, which does not"),
        ({"files": [("file", ("a.md", b"# A")), ("file", ("b.md", b"# B"))]}, 422, "too many files"),
        ({"files": [("file", (f"{n}.md", b"# A")) for n in range(5)]}, 422, "too many files"),
        ({"files": {"file": ("a.md", b"# A")}, "data": {"tenant": "shop-ru"}}, 422, "does not belong there"),
        ({"files": {"file": ("a.md", b"# A")}, "data": {"file": "text"}}, 422, "no file"),
        ({"files": {"file": ("a.md", b"")}}, 422, "empty"),
        ({"files": {"file": ("../../etc/passwd.md", b"# A")}}, 422, "is a path"),
        ({"files": {"file": ("..\\boot.md", b"# A")}}, 422, "is a path"),
        ({"files": {"file": ("..", b"# A")}}, 422, "is a path"),
        ({"files": {"file": ("n" * 300 + ".md", b"# A")}}, 422, "no usable name"),
        ({"files": {"file": ("table.xlsx", b"PK\x03\x04 and more")}}, 422, ""),
        ({"files": {"file": ("photo.png", b"\x89PNG\r\n", "image/png")}}, 422, "not read"),
        ({"files": {"file": ("big.md", b"# A" + b" " * LIMIT)}}, 413, "too large"),
    ],
)
def test_a_bad_upload_is_answered_in_words(
    admin: httpx.Client, sent: dict[str, Any], status: int, problem: str
) -> None:
    before = names(admin)
    answer = admin.post(ROUTE, **sent)
    is_a_problem(answer, status)
    assert problem in answer.json()["problem"]
    assert answer.json()["fix"]
    assert names(admin) == before


def test_without_its_end_an_upload_was_cut_off(admin: httpx.Client) -> None:
    whole = httpx.Request("POST", "http://x", files={"file": ("cut.md", b"# Cut\n\n" + b"words " * 2_000)})
    head = {"Content-Type": whole.headers["content-type"]}
    for size in (len(whole.read()) // 2, len(whole.read()) - 4):
        answer = admin.post(ROUTE, content=whole.read()[:size], headers=head)
        is_a_problem(answer, 400)
        assert answer.json()["code"] == "cut_off"
    assert "cut.md" not in names(admin)


def test_a_client_that_goes_away_in_the_middle_leaves_nothing(
    house: House, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def spool(*args: Any, **options: Any) -> Any:
        made.append(tempfile.SpooledTemporaryFile(*args, **options))  # noqa: SIM115
        return made[-1]

    monkeypatch.setattr("starlette.formparsers.SpooledTemporaryFile", spool)
    address = urlsplit(house.url)
    head = (
        f"POST {ROUTE} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {house.token(OURS, 'admin')}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 2500000\r\n\r\n"
        '--b\r\nContent-Disposition: form-data; name="file"; filename="gone.md"\r\n\r\n'
    )
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as client:
        client.sendall(head.encode() + b"word " * 300_000)
        wait_until(lambda: bool(made))
    wait_until(lambda: made[0].closed)
    assert "gone.md" not in names(admin)


def test_an_upload_is_spooled_to_disk_and_not_kept_in_memory() -> None:
    from starlette.formparsers import MultiPartParser

    assert MultiPartParser.spool_max_size <= 1024 * 1024
    assert {ROUTE, "/v1/evaluations/upload", "/documents/upload"} == uploads.UPLOAD_PATHS


def test_other_requests_keep_their_own_bound(house: House) -> None:
    answer = house.key().post("/v1/conversations", content=b" " * (house.settings.max_body_bytes + 1))
    is_a_problem(answer, 413)
    assert "max_body_bytes" in answer.json()["fix"]


def test_a_document_of_too_many_letters_is_refused(admin: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_CHARACTERS", 100)
    is_a_problem(put(admin, "long.md", b"# Long\n\n" + b"word " * 100), 413)


def test_who_sends_too_large_a_document_hears_every_limit_at_once(
    admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ("25 MB", "max_upload_bytes", "2,000,000 characters")
    monkeypatch.setattr(read_document, "_LARGE", 100)
    monkeypatch.setattr(documents, "MOST_CHARACTERS", 100)
    long = put(admin, "long.md", b"# Long\n\n" + b"word " * 100)
    unreadable = put(admin, "long.png", b"\x89PNG\r\n" * 100, "image/png")
    monkeypatch.setattr(documents, "MAX_BYTES", 1_000)
    large = put(admin, "large.md", b"word " * 1_000)
    for answer, status in ((long, 413), (unreadable, 422), (large, 413)):
        is_a_problem(answer, status)
        assert all(one in answer.json()["fix"] for one in limits), answer.text
    short = put(admin, "short.png", b"\x89PNG\r\n", "image/png")
    assert not any(one in short.json()["fix"] for one in limits)


def test_a_tenant_has_only_so_many_documents(admin: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert put(admin, "one.md", b"# One\n\nThe first.").status_code == 201
    monkeypatch.setattr(documents, "MOST_DOCUMENTS", 1)
    is_a_problem(put(admin, "two.md", b"# Two\n\nThe second."), 422)
    assert put(admin, "one.md", b"# One\n\nThe first again.").status_code == 201


def test_what_was_uploaded_is_found_by_its_tenant_alone(house: House, admin: httpx.Client) -> None:
    put(admin, "kettles.md", b"# Kettles\n\nThe copper kettle Falcon holds 3 litres.\n")

    async def search(store: SqlStore) -> list[list[str]]:
        library = Library(store)
        return [[one.document for one in await library.search(name, "copper kettle Falcon")] for name in (OURS, THEIRS)]

    ours, theirs = house.stored(search)
    assert ours[:1] == ["kettles.md"]
    assert "kettles.md" not in theirs


# --- to an evaluation -----------------------------------------------------------------------------------------------


def test_a_case_is_checked_against_files(house: House) -> None:
    client = house.key(OURS, "chat")
    files = [("file", ("policy.md", io.BytesIO(POLICY))), ("file", ("annex.md", b"# Annex\n\nNothing else.\n"))]
    answer = client.post("/v1/evaluations/upload", files=files, data={"request": ASKED})
    assert answer.status_code == 202, answer.text
    place = answer.headers["location"]
    wait_until(lambda: client.get(place).json()["state"] in ("done", "failed"))
    done = client.get(place).json()
    assert (done["state"], done["total"]) == ("done", 1)
    assert "policy.md" not in names(house.key(OURS, "admin"))


def test_a_large_file_reaches_an_evaluation(house: House) -> None:
    long = POLICY + b"\nThe annex goes on. " * 70_000
    assert len(long) > house.settings.max_body_bytes
    answer = house.key(OURS, "chat").post(
        "/v1/evaluations/upload", files={"file": ("policy.md", long)}, data={"request": ASKED}
    )
    assert answer.status_code == 202, answer.text


@pytest.mark.parametrize(
    ("name", "data", "problem", "fix"),
    [
        ("big.txt", b"x" * (MAX_BYTES + 1), "25 MB is the limit", BOUNDS),
        ("long.txt", b"word " * (MAX_CHARACTERS // 5 + 1), f"{MAX_CHARACTERS:,} is the limit", BOUNDS),
        ("huge.txt", b"x" * 30_000_001, "The request is too large", "30000000 bytes; the operator can raise max_up"),
    ],
)
def test_a_file_that_is_too_large_for_an_evaluation_is_told_all_bounds(
    tmp_path: Path, name: str, data: bytes, problem: str, fix: str
) -> None:
    with House(f"sqlite:///{tmp_path}/house.db") as house:
        files = {"file": (name, data)}
        answer = house.key(OURS, "chat").post("/v1/evaluations/upload", files=files, data={"request": ASKED}).json()
    assert problem in answer["problem"]
    assert fix in answer["fix"]
    assert "raise the limit" not in answer["fix"]


def test_too_much_for_an_evaluation_is_told_with_what_to_do(house: House) -> None:
    client = house.key(OURS, "chat")
    for number in (21, 40):
        files = [("file", (f"{one}.md", POLICY)) for one in range(number)]
        refused = client.post("/v1/evaluations/upload", files=files, data={"request": ASKED})
        is_a_problem(refused, 422)
        assert refused.json()["fix"] == "Send at most 20."
    long = " " * 1_000_001 + ASKED
    refused = client.post("/v1/evaluations/upload", files={"file": ("p.md", POLICY)}, data={"request": long})
    is_a_problem(refused, 413)
    assert "1000000 bytes" in refused.json()["problem"]
    assert "in parts named `file`" in refused.json()["fix"]
    written = {**json.loads(ASKED), "documents": [{"name": "p.md", "text": "word " * 300_000}]}
    refused = client.post("/v1/evaluations", json=written)
    is_a_problem(refused, 413)
    assert "Send at most 1000000 bytes" in refused.json()["fix"]
    assert "POST /v1/evaluations/upload" in refused.json()["fix"]


def test_the_command_of_the_documentation_uploads_a_case(house: House, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("NO CURL: install it to test uploads as the page on the API shows them")
    page = (Path(__file__).parents[2] / "docs" / "http-api.md").read_text("utf-8")
    (written,) = (line for line in page.splitlines() if "/v1/evaluations/upload -H" in line)
    (tmp_path / "policy.md").write_bytes(POLICY)
    (tmp_path / "case.json").write_text(ASKED)
    for name, value in {"$URL": house.url, "$KEY": house.token(OURS, "chat"), "policy.pdf": "policy.md"}.items():
        written = written.replace(name, value)
    ran = subprocess.run(shlex.split(written), cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=True)
    assert json.loads(ran.stdout).get("state"), ran.stdout


@pytest.mark.parametrize("media_type", ["application/json", "text/plain", "application/octet-stream"])
def test_the_request_beside_the_files_may_be_a_file_too(house: House, media_type: str) -> None:
    sent = {"file": ("policy.md", POLICY), "request": ("case.json", b"\xef\xbb\xbf" + ASKED.encode(), media_type)}
    answer = house.key(OURS, "chat").post("/v1/evaluations/upload", files=sent)
    assert answer.status_code == 202, answer.text


@pytest.mark.parametrize(
    ("parts", "status", "problem"),
    [
        ([("request", ("case.json", ASKED.encode()))], 422, "no part named `file`"),
        ([("file", ("p.md", POLICY)), ("request", ("case.json", b"\xff\xfe"))], 422, "`request` is not UTF-8"),
        ([("file", ("p.md", POLICY)), ("request", ("case.json", b" " * 1_000_001))], 413, "more than 1000000 bytes"),
        ([("file", ("p.md", POLICY)), *[("request", ("case.json", ASKED.encode()))] * 2], 422, "two parts named"),
        ([("file", ("p.md", POLICY)), ("case", ("case.json", ASKED.encode()))], 422, "named `case`, which does not"),
    ],
)
def test_what_is_missing_or_wrong_beside_the_files_is_named(
    house: House, parts: list[tuple[str, tuple[str, bytes]]], status: int, problem: str
) -> None:
    answer = house.key(OURS, "chat").post("/v1/evaluations/upload", files=parts)
    is_a_problem(answer, status)
    assert problem in answer.json()["problem"]


@pytest.mark.parametrize(
    ("data", "status", "problem"),
    [
        ({}, 422, "no part named `request`"),
        ({"request": "{"}, 400, ""),
        ({"request": "[]"}, 422, "not a JSON object"),
        ({"request": "{}"}, 422, ""),
        ({"request": '{"documents": 1}'}, 422, "not a JSON object"),
        ({"request": ASKED, "note": "x"}, 422, "does not belong there"),
    ],
)
def test_a_bad_request_beside_the_files_is_answered_in_words(
    house: House, data: dict[str, str], status: int, problem: str
) -> None:
    answer = house.key(OURS, "chat").post("/v1/evaluations/upload", files={"file": ("p.md", POLICY)}, data=data)
    is_a_problem(answer, status)
    assert problem in answer.json()["problem"]
