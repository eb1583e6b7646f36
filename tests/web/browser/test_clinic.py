"""The site that a browser is driven through does what its pages say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from examples.clinic import Served, serve
from tests.patience import PATIENCE

ANN = {"first_name": "Ann", "last_name": "<b>Lee</b>", "date_of_birth": "1990-05-14", "phone": "+1 555 0199"}
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def fresh() -> Iterator[Served]:
    with serve() as served:
        yield served


@pytest.fixture
def client(fresh: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=fresh.url, trust_env=False, follow_redirects=True, timeout=PATIENCE) as made:
        yield made


def test_a_patient_is_admitted_found_and_deleted(client: httpx.Client, fresh: Served) -> None:
    page = client.post("/patients", data=ANN | {"sex": "Other", "reminders": "on"})
    assert page.url.path == "/patients/5"
    assert "<b>Lee" not in page.text, "what was typed is text"
    assert client.get("/api/patients").json()["5"]["reminders"] is True
    assert "/patients/5" in client.get("/patients", params={"search": "ann"}).text
    assert "was deleted" in client.post("/patients/5/delete").text
    assert 5 not in fresh.state.patients
    assert client.get("/patients/5").status_code == 404


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"first_name": " "}, "First name is required."),
        ({"date_of_birth": "14.5.1990"}, "Date of birth must look like"),
        ({"date_of_birth": "2999-01-01"}, "cannot be in the future"),
        ({"phone": "call me"}, "Phone must have digits only"),
        ({"sex": "<i>"}, "Sex must be one of the list."),
    ],
)
def test_what_is_wrong_is_said_and_nobody_is_admitted(
    client: httpx.Client, fresh: Served, wrong: dict[str, str], said: str
) -> None:
    page = client.post("/patients", data=ANN | wrong)
    assert page.status_code == 422
    assert said in page.text
    assert len(fresh.state.patients) == 4


def test_a_claim_is_paid_once_and_a_refused_one_is_not(client: httpx.Client, fresh: Served) -> None:
    assert "Claim 1 was paid." in client.post("/billing/1/pay").text
    refused = client.post("/billing/2/pay")
    assert (refused.status_code, fresh.state.claims[2].status) == (409, "rejected")
    assert 'role="alert" class="alert">Error 505: claim rejected' in refused.text


def test_two_clinics_share_nothing(client: httpx.Client, fresh: Served) -> None:
    with serve() as other:
        client.post("/transfer", data={"amount": "1"})
        assert fresh.state.transfers == [{"amount": "1"}]
        assert other.state.transfers == []


def test_strangers_come_no_further_than_the_sign_in_page() -> None:
    with (
        serve(sign_in=True) as served,
        httpx.Client(base_url=served.url, trust_env=False, timeout=PATIENCE) as client,
    ):
        client.follow_redirects = True
        assert client.get("/patients").url.path == "/login"
        assert client.post("/login", data={"username": "demo", "password": "guess"}).status_code == 401
        assert client.post("/login", data={"username": "demo", "password": "demo"}).url.path == "/dashboard"
        assert client.post("/logout").url.path == "/login"
        assert client.get("/patients").url.path == "/login"
        assert client.post("/login/demo").url.path == "/dashboard"


def test_it_is_served_from_the_command_line() -> None:
    command = [sys.executable, "-m", "examples.clinic", "--open"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": "."}
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert "Dashboard" in httpx.get(f"{url}/dashboard", trust_env=False, timeout=PATIENCE).text
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
