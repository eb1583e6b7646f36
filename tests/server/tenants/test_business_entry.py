"""CRM, calendar and mail in a tenant file: six tools by settings, secrets by name, and a slip at its line."""

from __future__ import annotations

import pytest

from circumspect.clock import FixedClock, RandomIds
from circumspect.server.directory import Directory
from circumspect.server.tenants.file_findings import TenantFileError
from circumspect.server.tenants.tool_building import tools_of
from circumspect.server.vault import open_vault
from circumspect.tools.tool_context import ToolContext
from circumspect.values import TenantId

CLINIC = TenantId("clinic")
SMALL = "id: clinic\nbusiness: {name: The Clinic}\n"
EMBEDDED = f"""{SMALL}tools:
  - business:
      zone: Asia/Jerusalem
      hours: {{sunday: 8:00-12:00, monday: "8:00 - 12:00"}}
      slot_minutes: 60
      sender: desk@clinic.example
"""
REAL = f"""{SMALL}secrets:
  dav: {{env: DAV}}
  smtp: {{env: SMTP}}
  crm: {{env: CRM}}
tools:
  - business:
      calendar: {{url: "https://dav.example.com/desk/", user: desk, password: {{secret: dav}}}}
      mail: {{host: mail.example.com, user: desk, password: {{secret: smtp}}}}
      crm:
        base_url: https://crm.example.com/api
        results: data.people
        fields: {{company: organisation}}
        auth: {{bearer: {{secret: crm}}}}
"""


async def test_six_tools_work_on_files_of_the_tenants_own(apply, store, settings, tmp_path, clock):
    await apply(EMBEDDED)
    await apply(EMBEDDED.replace("clinic", "other"))
    directory = Directory(store, settings, open_vault(settings), clock, RandomIds())
    ours, theirs = [(await directory.setup(TenantId(name))).ports.tools for name in ("clinic", "other")]
    assert set(ours.specs()) == {
        "find_lead", "update_lead", "find_free_times", "book_meeting", "cancel_meeting", "send_email",
    }  # fmt: skip
    free = await ours.call("find_free_times", {"date": "2026-04-05"}, "1")
    assert [slot["start"] for slot in free["free"]] == [f"2026-04-05T{hour:02}:00:00+03:00" for hour in (8, 9, 10, 11)]
    who = {"name": "Dana Levi", "email": "dana@example.com"}
    await ours.call("book_meeting", {"date": "2026-04-05", "time": "09:00", **who}, "2")
    await ours.call("update_lead", {"email": "dana@example.com", "note": "allergic to penicillin"}, "3")
    await ours.call("send_email", {"to": "dana@example.com", "subject": "Sunday", "body": "See you."}, "4")
    assert len((await ours.call("find_free_times", {"date": "2026-04-05"}, "5"))["free"]) == 3
    assert len((await theirs.call("find_free_times", {"date": "2026-04-05"}, "6"))["free"]) == 4
    assert (await theirs.call("find_lead", {"email": "dana@example.com"}, "7"))["found"] is False
    (mail,) = (tmp_path / "business" / "clinic" / "outbox").glob("*.eml")
    assert "From: desk@clinic.example" in mail.read_text()
    await directory.close()


async def test_settings_make_them_speak_to_real_systems(apply, reading, monkeypatch, tmp_path, clock: FixedClock):
    for name in ("DAV", "SMTP", "CRM"):
        monkeypatch.setenv(name, f"the {name} secret")
    await apply(REAL)
    section = reading(REAL).file.tools[0].business
    secrets = {"dav": "the DAV secret", "smtp": "the SMTP secret", "crm": "the CRM secret"}
    config = section.to_config(ToolContext(CLINIC, "en", tmp_path, clock, secrets))
    assert (config.calendar.password, config.mail.password) == ("the DAV secret", "the SMTP secret")
    assert config.crm.headers == {"Authorization": "Bearer the CRM secret"}
    assert (config.crm.results, config.crm.fields) == ("data.people", {"company": "organisation"})
    assert "secret" not in repr(config)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{zone: Asia/Jeruslem}", "There is no time zone 'Asia/Jeruslem'"),
        ("{hours: {tusday: 9:00-12:00}}", "'tusday' cannot be this; did you mean 'tuesday'?"),
        ("{hours: {monday: 12:00-9:00}}", "it closes before it opens"),
        ("{hours: {monday: all day}}", "'monday' is not written as it should be"),
        ("{slot_minuts: 20}", "unknown key 'slot_minuts'; did you mean 'slot_minutes'?"),
        ("{slot_minutes: 1}", "'slot_minutes': input should be greater than or equal to 5"),
        ("{calendar: {url: 'ftp://x'}}", "'url' is not written as it should be"),
        ("{calendar: {url: 'https://x/', password: hunter2}}", "'password' must have settings below it"),
        ("{mail: {host: x, security: none, password: {secret: pw}}}", "no secret 'pw'"),
        ("{crm: {base_url: 'https://x', update: 'GET /leads'}}", "The CRM's update is 'GET /leads'"),
        ("{crm: {base_url: 'https://x', fields: {organisation: company}}}", "'organisation' cannot be this"),
    ],
)
async def test_a_slip_is_met_at_its_line_and_no_secret_is_repeated(entry, problem, apply):
    with pytest.raises(TenantFileError) as refused:
        await apply(f"{SMALL}tools:\n  - business: {entry}\n")
    assert problem in str(refused.value)
    assert "tenant.yaml:4:" in str(refused.value)
    assert "hunter2" not in str(refused.value)


async def test_a_secret_is_not_put_into_addresses(apply, monkeypatch):
    monkeypatch.setenv("CRM", "value")
    asks = "auth: {query: {name: key, value: {secret: crm}}}"
    with pytest.raises(TenantFileError, match="would stand in addresses"):
        await apply(
            f"{SMALL}secrets: {{crm: {{env: CRM}}}}\ntools:\n  - business: {{crm: {{base_url: 'https://x', {asks}}}}}\n"
        )


async def test_the_policy_is_held_against_them(apply):
    with pytest.raises(TenantFileError, match="book_meting"):
        await apply(f"{EMBEDDED}policy: {{tools: {{book_meting: {{effect: write}}}}}}\n")


async def test_where_nobody_gives_the_secret_the_tenant_is_told(reading, tmp_path, clock):
    section = reading(f"{SMALL}tools:\n  - business: {{mail: {{host: x, password: {{secret: pw}}}}}}\n").file.tools[0]
    with pytest.raises(Exception, match="There is no secret 'pw'"):
        await tools_of(section, ToolContext(CLINIC, "en", tmp_path, clock), None, policy=None)  # type: ignore[arg-type]
