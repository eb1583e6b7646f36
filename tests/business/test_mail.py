"""Mail into the outbox folder, and over SMTP to real servers on loopback: one that works, and ones that break."""

from __future__ import annotations

import asyncio
from email import message_from_bytes
from email.policy import default

import pytest
from tests.business.conftest import MONDAY, breaking

from circumspect.business import Smtp
from circumspect.business.mail import MailSender, compose
from circumspect.errors import ConfigError, ToolError, ToolTimeout

SAID = {"to": "dana@example.com", "subject": "Your meeting", "body": "See you on Tuesday.\n.\nשלום, до встречи"}


def read(content: bytes):
    return message_from_bytes(content, policy=default)


# --- the outbox ------------------------------------------------------------------------------------------------------


async def test_without_a_server_mail_is_a_file_that_any_mail_program_opens(embedded):
    shop = embedded(sender="office@shop.example", sender_name="The Shop")
    told = await shop.call("send_email", **SAID)
    assert told["status"] == "written to the outbox"
    (file,) = (shop.config.folder / "outbox").iterdir()
    mail = read(file.read_bytes())
    assert file.suffix == ".eml"
    assert (mail["to"], mail["from"], mail["subject"]) == (
        "dana@example.com", "The Shop <office@shop.example>", "Your meeting",
    )  # fmt: skip
    assert mail["message-id"] == told["message_id"]
    assert mail.get_content().strip().replace("\r\n", "\n") == SAID["body"]


async def test_the_same_call_twice_is_one_mail_and_another_call_another(embedded):
    shop = embedded()
    await asyncio.gather(*(shop.call("send_email", "same", **SAID) for _ in range(5)))
    await shop.call("send_email", "other", **SAID)
    assert len(list((shop.config.folder / "outbox").iterdir())) == 2


def test_mail_to_the_outbox_may_be_repeated_and_mail_over_smtp_never(embedded):
    assert embedded().tools.specs()["send_email"].recovery == "keyed"
    assert embedded(mail=Smtp("localhost")).tools.specs()["send_email"].recovery == "blind"


# --- headers ---------------------------------------------------------------------------------------------------------

EVIL = [
    "x\r\nBcc: all@example.com",
    "x\nBcc: a@b.c",
    "x\rBcc: a@b.c",
    "x\u2028Bcc: a@b.c",
    "x\x85Bcc: a@b.c",
    "x\x0bBcc: a",
    "x\0y",
]


@pytest.mark.parametrize("evil", EVIL)
async def test_a_subject_cannot_smuggle_in_a_header(embedded, evil):
    shop = embedded()
    with pytest.raises(ToolError, match="nothing was sent"):
        await shop.call("send_email", **SAID | {"subject": evil})
    assert not (shop.config.folder / "outbox").exists()


@pytest.mark.parametrize(
    "evil",
    ["a@b.example\r\nBcc: c@d.example", "a@b.example, c@d.example", "Dana <a@b.example>", "a@b.example>", "@b.example", "a@", "", "a b@c.example", "a..b@c.example", "dana@exämple.com", "a@b.example\n"],
)  # fmt: skip
async def test_the_recipient_is_one_address_and_nothing_else(embedded, evil):
    shop = embedded()
    with pytest.raises(ToolError):
        await shop.call("send_email", **SAID | {"to": evil})
    assert not (shop.config.folder / "outbox").exists()


@pytest.mark.parametrize("evil", EVIL)
def test_what_the_schema_should_have_stopped_is_stopped_again_where_the_mail_is_made(evil):
    sender = MailSender("office@shop.example")
    with pytest.raises(ToolError):
        compose(sender, evil, "subject", "body", "k", MONDAY)
    with pytest.raises(ToolError):
        compose(sender, "a@b.example", evil, "body", "k", MONDAY)


def test_a_body_that_looks_like_headers_is_body():
    mail = read(
        bytes(compose(MailSender("o@s.example"), "a@b.example", "s", "Bcc: x@y.z\r\n\r\n.\r\nQUIT", "k", MONDAY))
    )
    assert mail["bcc"] is None
    assert "Bcc: x@y.z" in mail.get_content()


def test_a_long_subject_in_any_language_arrives_whole():
    subject = "פגישה חשובה מאוד עם הצוות שלנו, очень важная встреча, " * 3
    mail = read(bytes(compose(MailSender("o@s.example"), "a@b.example", subject.strip(), "b", "k", MONDAY)))
    assert mail["subject"] == subject.strip()


def test_a_sender_that_is_no_address_is_met_at_start(embedded):
    for wrong in ({"sender": "The Shop"}, {"sender_name": "x\r\nBcc: a@b.c"}):
        with pytest.raises(ConfigError):
            embedded(**wrong)


# --- SMTP ------------------------------------------------------------------------------------------------------------


async def test_mail_reaches_a_real_server_whole(embedded, smtp, inbox):
    told = await embedded(mail=smtp).call("send_email", **SAID)
    assert told["status"] == "sent"
    (content,) = inbox.received
    mail = read(content)
    assert (mail["to"], mail["message-id"]) == ("dana@example.com", told["message_id"])
    assert mail.get_content().strip().replace("\r\n", "\n") == SAID["body"]


async def test_the_message_id_is_of_the_key(embedded, smtp, inbox):
    shop = embedded(mail=smtp)
    ids = [(await shop.call("send_email", key, **SAID))["message_id"] for key in ("a", "a", "b")]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize("change", [{"to": "nobody@example.com"}, {"subject": "a virus"}])
async def test_what_the_server_refuses_did_not_leave(embedded, smtp, inbox, change):
    with pytest.raises(ToolError, match="nothing was sent") as refused:
        await embedded(mail=smtp).call("send_email", **SAID | change)
    assert not isinstance(refused.value, ToolTimeout)
    assert inbox.received == []


async def test_a_server_that_is_not_there_did_not_get_it(embedded):
    with pytest.raises(ToolError, match="nothing was sent") as refused:
        await embedded(mail=Smtp("127.0.0.1", 9, security="none", timeout=2)).call("send_email", **SAID)
    assert not isinstance(refused.value, ToolTimeout)


@pytest.mark.parametrize("silent", [True, False])
@pytest.mark.parametrize("after", [b"EHLO", b"MAIL", b"RCPT"])
async def test_a_server_that_breaks_off_before_the_text_did_not_get_it(embedded, after, silent):
    async with breaking(after, silent=silent) as server:
        with pytest.raises(ToolError, match="nothing was sent") as refused:
            await embedded(mail=server).call("send_email", **SAID)
    assert not isinstance(refused.value, ToolTimeout)


@pytest.mark.parametrize("silent", [True, False])
async def test_a_server_that_breaks_off_with_the_text_in_hand_leaves_the_outcome_open(embedded, silent):
    async with breaking(b".\r\n", silent=silent) as server:
        with pytest.raises(ToolTimeout, match="not known whether the mail left") as open_end:
            await embedded(mail=server).call("send_email", **SAID)
    assert "@localhost>" in str(open_end.value)


# --- encryption and passwords ----------------------------------------------------------------------------------------


async def test_a_password_goes_over_an_encrypted_connection_only(embedded, locked, inbox):
    await embedded(mail=locked).call("send_email", **SAID)
    assert len(inbox.received) == 1
    with pytest.raises(ConfigError, match="unencrypted"):
        Smtp("mail.example", user="u", password="p", security="none")


async def test_a_server_whose_certificate_nobody_vouches_for_gets_nothing(embedded, locked, inbox):
    from dataclasses import replace

    with pytest.raises(ToolError, match="nothing was sent"):
        await embedded(mail=replace(locked, ca_file=None)).call("send_email", **SAID)
    assert inbox.received == []


async def test_a_wrong_password_is_a_refusal_that_does_not_show_it(embedded, locked, inbox):
    from dataclasses import replace

    with pytest.raises(ToolError, match="credentials") as refused:
        await embedded(mail=replace(locked, password="guess-me")).call("send_email", **SAID)
    assert "guess-me" not in str(refused.value)
    assert "guess-me" not in repr(replace(locked, password="guess-me"))
