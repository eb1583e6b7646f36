"""A password is not enough where there is a second factor, and old proofs are not enough for what is dangerous."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import pyotp
import pytest
from fastapi import Depends, Request
from tests.server.door import PASSWORD, Door, hurry
from tests.server.door import door as opened

from circumspect.server import access as doors
from circumspect.server import credentials, second_factors
from circumspect.server.stores import access
from circumspect.server.stores import second_factors as rows
from circumspect.server.stores.access import OperatorRow


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    hurry(monkeypatch)
    monkeypatch.setattr("circumspect.server.routes.session.ATTEMPTS_PER_MINUTE", 10_000)
    monkeypatch.setattr("circumspect.server.proving.PROOFS_PER_MINUTE", 10_000)


@pytest.fixture
async def door(tmp_path, clock):
    async with opened(tmp_path, clock, rate=10_000) as one:
        yield one


class App:
    """The thing in an operator's pocket."""

    def __init__(self, door: Door, secret: str, recovery: tuple[str, ...]) -> None:
        self.door, self.totp, self.recovery = door, pyotp.TOTP(secret), recovery

    def code(self, seconds: float = 0) -> str:
        return self.totp.generate_otp(int((self.door.clock.now().timestamp() + seconds) // 30))

    def wrong(self) -> str:
        good = {self.code(by) for by in (-30, 0, 30)}
        return next(code for code in (f"{number:06d}" for number in range(10)) if code not in good)


async def with_app(door: Door, operator: OperatorRow) -> App:
    inside, now = door.inside, door.clock.now()
    begun = second_factors.begin_enrolment(inside.vault, operator, now)
    code = pyotp.TOTP(begun.secret).generate_otp(int(now.timestamp() // 30))
    made = await second_factors.add_code_app(door.store, inside.ids, inside.vault, operator, begun, code, now)
    door.clock.advance(minutes=5)
    return App(door, begun.secret, made)


async def test_with_a_second_factor_a_password_alone_gets_nobody_in(door: Door):
    app = await with_app(door, await door.operator())
    for options in ({}, {"cookie": True}, {"code": None}):
        answer = await door.sign_in(**options)
        assert answer.status_code == 401
        assert answer.json()["code"] == "second_factor_needed"
        assert "set-cookie" not in answer.headers
    made = await door.sign_in(code=app.code())
    assert made.status_code == 201
    assert (await door.get("/role/any", made.json()["token"])).status_code == 200


async def test_a_right_code_with_a_wrong_password_says_no_more_than_a_wrong_password(door: Door):
    app = await with_app(door, await door.operator())
    with_code = await door.sign_in(password="wrong password", code=app.code())
    without = await door.sign_in(password="wrong password")
    assert with_code.status_code == without.status_code == 401
    assert with_code.json() == without.json()
    assert (await door.sign_in(code=app.code())).status_code == 201, "the code was not even looked at"


async def test_a_code_signs_in_once(door: Door):
    app = await with_app(door, await door.operator())
    code = app.code()
    answers = await asyncio.gather(*(door.sign_in(code=code) for _ in range(6)))
    assert sorted(one.status_code for one in answers) == [201, 401, 401, 401, 401, 401]
    assert (await door.sign_in(code=code)).status_code == 401


async def test_a_recovery_code_signs_in_once(door: Door):
    app = await with_app(door, await door.operator())
    assert (await door.sign_in(code=app.recovery[0])).status_code == 201
    assert (await door.sign_in(code=app.recovery[0])).status_code == 401
    assert "recovery_code.used" in await door.log()


async def test_guessing_codes_ends_in_a_lock_that_ends(door: Door):
    app = await with_app(door, await door.operator())
    for _ in range(12):
        assert (await door.sign_in(code=app.wrong())).status_code == 401
    assert (await door.sign_in(code=app.code())).status_code == 401
    door.clock.advance(seconds=61)
    assert (await door.sign_in(code=app.code())).status_code == 201


async def test_a_code_of_another_operator_is_none(door: Door):
    dana, eli = await door.operator("dana"), await door.operator("eli")
    app, other = await with_app(door, dana), await with_app(door, eli)
    assert (await door.sign_in("dana", code=other.code())).status_code == 401
    assert (await door.sign_in("dana", code=other.recovery[0])).status_code == 401
    assert (await door.sign_in("dana", code=app.code())).status_code == 201


async def test_a_role_that_needs_more_than_a_password_gets_to_nothing_with_one(tmp_path, clock):
    async with opened(tmp_path, clock, rate=10_000, second_factor_roles=("admin",)) as door:
        root, eli = await door.operator("root", "admin"), await door.operator("eli")
        token = (await door.sign_in("root")).json()["token"]
        refused = await door.get("/role/any", token)
        assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_required")
        assert (await door.get("/v1/session", token)).status_code == 403
        assert (await door.get("/role/any", (await door.sign_in("eli")).json()["token"])).status_code == 200
        app = await with_app(door, root)
        assert eli.role == "operator"
        whole = (await door.sign_in("root", code=app.code())).json()["token"]
        assert (await door.get("/role/any", whole)).status_code == 200
        assert (await door.get("/role/any", token)).status_code in (401, 403), "the one with a password did not grow"


# --- once more ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def danger(door: Door) -> Door:
    """With something that only who has just proved who they are may do."""

    async def route(request: Request, who: Annotated[doors.Principal, Depends(doors.either("admin", ("operator",)))]):
        doors.require_fresh(request, who)
        return {}

    door.app.post("/danger")(route)
    return door


async def act(door: Door, token: str) -> int:
    return (await door.client.post("/danger", headers={"Authorization": f"Bearer {token}"})).status_code


async def prove(door: Door, token: str, proof: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return (await door.client.post("/v1/session/proof", json={"proof": proof}, headers=headers)).status_code


async def test_a_fresh_sign_in_is_not_asked_and_an_old_one_is(danger: Door):
    token = await danger.signed_in()
    danger.clock.advance(minutes=15)
    assert await act(danger, token) == 200
    danger.clock.advance(seconds=1)
    assert await act(danger, token) == 403
    assert await prove(danger, token, "wrong password") == 401
    assert await act(danger, token) == 403
    assert await prove(danger, token, PASSWORD) == 204
    assert await act(danger, token) == 200


async def test_keys_are_not_asked(danger: Door):
    key = await danger.key("admin")
    danger.clock.advance(hours=5)
    assert await act(danger, key) == 200
    assert await prove(danger, key, "x") == 401


async def test_proving_it_in_one_sign_in_does_not_prove_it_in_another(danger: Door):
    token = await danger.signed_in()
    other = (await danger.sign_in()).json()["token"]
    danger.clock.advance(minutes=16)
    assert await prove(danger, token, PASSWORD) == 204
    assert (await act(danger, token), await act(danger, other)) == (200, 403)


async def test_with_a_second_factor_a_password_proves_nothing(danger: Door):
    operator = await danger.operator()
    app = await with_app(danger, operator)
    token = (await danger.sign_in(code=app.code())).json()["token"]
    danger.clock.advance(minutes=16)
    assert await prove(danger, token, PASSWORD) == 401
    code = app.code()
    assert await prove(danger, token, code) == 204
    assert await act(danger, token) == 200
    assert await prove(danger, token, code) == 401, "the same code proves nothing twice"


async def test_guessing_at_a_proof_is_guessing_at_the_sign_in(danger: Door):
    """A stolen sign-in gives no more tries than the sign-in page."""
    token = await danger.signed_in()
    danger.clock.advance(minutes=16)
    for _ in range(10):
        await prove(danger, token, "wrong password")
    assert await prove(danger, token, PASSWORD) == 401


async def test_a_new_password_ends_a_sign_in_that_is_halfway(door: Door):
    operator, now = await door.operator(), door.clock.now().timestamp()
    await door.store.tx(rows.add_challenge, "h", "second_step", operator.id, now, 300)
    assert await door.store.tx(rows.is_open, "h", "second_step", now) == (True, operator.id)
    await door.store.tx(access.set_password, operator.id, credentials.hash_password(PASSWORD))
    assert await door.store.tx(rows.is_open, "h", "second_step", now) == (False, None)


async def test_a_reset_signs_out_and_is_logged_with_who_did_it(door: Door):
    operator = await door.operator()
    app = await with_app(door, operator)
    token = (await door.sign_in(code=app.code())).json()["token"]
    now = door.clock.now() + timedelta(seconds=1)
    await second_factors.reset_second_factors(door.store, door.inside.ids, "root", operator, now)
    assert (await door.get("/role/any", token)).status_code == 401
    assert (await door.sign_in()).status_code == 201
