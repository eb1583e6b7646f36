"""checks: settings in, findings out: what works, what does not, and what to do about it. Used by `circumspect doctor`.

Nothing is made, changed or upgraded by looking: a database that is not there yet is not created. Each check stands
alone and may fail in any way it likes; the next one runs all the same.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
import ssl
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import unquote, urlsplit

from circumspect.errors import CircumspectError, ConfigError, ModelUnavailable, StoreError
from circumspect.extras import explain_missing
from circumspect.secret_files import ENDING
from circumspect.server.config import MAKE_KEY, Settings, find_secrets, near
from circumspect.settings_places import CONFIG_VARIABLE, PREFIX

CheckState = Literal["ok", "warning", "wrong"]
PATIENCE = 15.0
SKEW_SECONDS = 2.0
_LITTLE_ROOM = 200_000_000


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    check: str
    state: CheckState
    said: str
    fix: str = ""


class CheckAnswer(NamedTuple):
    """A finding without the name of its check."""

    state: CheckState
    said: str
    fix: str = ""


_ok, _warn, _wrong = (partial(CheckAnswer, state) for state in get_args(CheckState))
Check = Callable[[Settings, bool], Awaitable[CheckAnswer | None]]


async def run_checks(settings: Settings, *, online: bool) -> list[DoctorFinding]:
    found = list(unknown_variables())
    for name, check in CHECKS.items():
        try:
            async with asyncio.timeout(_patience(name, settings)):
                one = await check(settings, online)
        except CircumspectError as problem:
            one = _wrong(problem.problem, problem.fix)
        except TimeoutError:
            seconds = _patience(name, settings)
            one = _wrong(f"It did not answer within {seconds:g} seconds.", "Check that it runs.")
        except ModuleNotFoundError as missing:
            told = explain_missing(missing) or ConfigError(str(missing), fix="Install it.")
            one = _wrong(told.problem, told.fix)
        except Exception as error:
            # Whatever it is, the other checks are still worth having. The text is left out: it may hold a password.
            one = _wrong(f"The check itself failed: {type(error).__name__}.", "Report it.")
        if one is not None:
            found.append(DoctorFinding(name, *one))
    return found


def _patience(name: str, settings: Settings) -> float:
    """A model is waited for as the server waits, and gives up by itself; the second more is to hear it do so."""
    return max(PATIENCE, settings.model_seconds + 1) if name == "model" else PATIENCE


def unknown_variables() -> Iterator[DoctorFinding]:
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields] + [CONFIG_VARIABLE]
    known += [f"{PREFIX}{name.upper()}{ENDING}" for name in find_secrets()]
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            said = f"{name} is not a setting{near(name, known)}"
            yield DoctorFinding(
                "environment", "warning", said.rstrip("?") + ("?" if said.endswith("?") else "."), "Unset it."
            )


async def _folder(settings: Settings, online: bool) -> CheckAnswer:
    from circumspect.server.vault import key_path

    path = key_path(settings.database)
    folder = path.parent if path else Path.cwd()
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    fix = "Choose another path for the database, or give the user who runs the server the right to write there."
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return _wrong(f"{folder} cannot be written to: {error.strerror}.", fix)
    free = shutil.disk_usage(there).free
    if free < _LITTLE_ROOM:
        return _warn(f"{folder} has {free // 1_000_000} MB left.", "Free some space.")
    return _ok(f"{folder} can be written to.")


async def _files(settings: Settings, online: bool) -> CheckAnswer | None:
    """The database's, and what lies beside it."""
    from circumspect.private_files import database_files, is_open_to_everybody

    path = sqlite_path(settings.database)
    if path is None or not path.exists():
        return None
    beside = [one for one in path.parent.glob("demo.*") if one.suffix in (".key", ".password")]
    open_ = [one for one in (*database_files(path), *beside) if is_open_to_everybody(one)]
    if open_:
        names = " ".join(map(str, open_))
        return _warn(f"Every user of this machine can read {names}.", f"chmod 600 {names}; the server does it too.")
    return _ok("Only their owner, or a group of your choice, can read them.")


async def _database(settings: Settings, online: bool) -> CheckAnswer:
    from circumspect.server.vault import key_path
    from circumspect.stores import SqlStore
    from circumspect.stores.schema import HEAD

    path = sqlite_path(settings.database)
    if path is not None and not path.exists():
        return _ok(f"{path} is made when the server starts.")
    store = await SqlStore.open(settings.database, migrate=False)
    await store.close()
    if key_path(settings.database) and settings.workers > 1:
        return _warn(
            f"{settings.workers} workers share one SQLite file, which has one writer at a time.",
            "Use PostgreSQL for more than one worker: --database postgresql://…",
        )
    return _ok(f"It is reached, and its schema is current ({HEAD}).")


def sqlite_path(database: str) -> Path | None:
    """The database's file, where it is one."""
    from circumspect.server.vault import key_path

    if key_path(database) is None or "file:" in database:
        return None
    return Path(database.partition("://")[2].partition("?")[0].removeprefix("/") if "://" in database else database)


async def _clock(settings: Settings, online: bool) -> CheckAnswer | None:
    """A worker's clock decides whether a lease or a confirmation has expired, so clocks must agree."""
    if not settings.database.startswith("postgres"):
        return None
    from circumspect.stores.engine import connect

    database = connect(settings.database)
    try:
        theirs, before, after = await database.threads.run(lambda: database.transaction(_times))
    except StoreError:
        return None  # told by the check of the database
    finally:
        await asyncio.to_thread(database.close)
    apart = max(before - theirs, theirs - after, 0.0)
    if apart > SKEW_SECONDS:
        return _wrong(
            f"The clocks of this machine and of the database are {apart:.1f} s apart.",
            "Run a time service (chrony, systemd-timesyncd) on both.",
        )
    return _ok("It agrees with the database's.")


def _times(connection: Any) -> tuple[float, float, float]:
    import sqlalchemy as sa

    before = time.time()
    theirs = connection.execute(sa.text("SELECT EXTRACT(EPOCH FROM clock_timestamp())")).scalar()
    return float(theirs), before, time.time()


async def _redis(settings: Settings, online: bool) -> CheckAnswer | None:
    if settings.redis is None:
        if settings.workers == 1:
            return None
        return _warn(
            f"Without Redis each of the {settings.workers} workers counts requests for itself.",
            "Set --redis, or divide rate_per_minute by the number of workers.",
        )
    try:
        from redis.asyncio import Redis
        from redis.exceptions import RedisError
    except ModuleNotFoundError:
        return _wrong("The Redis client is not installed.", "pip install 'circumspect[redis]'")
    client: Any = Redis.from_url(settings.redis, socket_timeout=3, socket_connect_timeout=3)
    try:
        await client.ping()
    except (RedisError, OSError) as error:
        fix = (
            "Check that it runs, and the host, port and password in the URL. Without it each worker counts for itself."
        )
        return _wrong(f"Redis cannot be used: {type(error).__name__}.", fix)
    finally:
        await client.aclose()
    return _ok("It answers.")


async def _model(settings: Settings, online: bool) -> CheckAnswer:
    from circumspect.models import ProviderSettings, open_model
    from circumspect.values import ChatMessage, ModelRequest

    model = open_model(settings.model, settings=ProviderSettings(timeout=settings.model_seconds))
    if settings.model == "offline":
        said = "The offline demo model answers. It is no language model."
        return CheckAnswer("ok" if settings.demo else "warning", said, "Name one with --model openai:gpt-4o.")
    if not online:
        return _ok(f"{model.name} is configured; --online asks it something.")
    question = ModelRequest(
        "draft", "doctor", "Answer with one word.", (ChatMessage("user", "Say ok."),), max_tokens=16
    )
    try:
        reply = await model.complete(question)
    except ModelUnavailable as problem:
        longer = f"If it only needs longer than {settings.model_seconds:g} s, raise model_seconds."
        return _wrong(problem.problem, f"{problem.fix} {longer}")
    return _ok(f"{reply.usage.model or model.name} answers.")


async def _model_prices(settings: Settings, online: bool) -> CheckAnswer | None:
    from circumspect.models.opening import OFFLINE
    from circumspect.models.pricing import read_price

    if not settings.model_prices:
        return None
    names = [read_price(one)[0] for one in settings.model_prices]
    if OFFLINE in names:
        return _warn(f"The price for {OFFLINE} is not used: the offline demo model costs nothing.", "Leave it out.")
    return _ok(f"Prices of your own: {', '.join(names)}.")


async def _embeddings(settings: Settings, online: bool) -> CheckAnswer | None:
    if settings.embeddings is None:
        return None
    from circumspect.knowledge.semantic import open_embedder

    embedder = open_embedder(settings.embeddings)
    if not online:
        return _ok(f"{embedder.name} is configured; --online asks for one.")
    (vector,) = await embedder.embed(["ok"])
    return _ok(f"{embedder.name} answers with vectors of {len(vector)} numbers.")


async def _search(settings: Settings, online: bool) -> CheckAnswer | None:
    if settings.search in ("documents", "none"):
        return None
    from circumspect.web.search.opening import open_search

    given = settings.search_key
    key = given.get_secret_value() if given else os.environ.get("TAVILY_API_KEY")
    search = open_search(settings.search, key=key, allow=settings.allow_addresses)
    if not online:
        return _ok(f"{search.name} is set up.")
    await search.find("opening hours", limit=1)
    return _ok(f"{search.name} answers.")


async def _secret_key(settings: Settings, online: bool) -> CheckAnswer:
    from circumspect.server.vault import key_path, open_to_others, open_vault

    if settings.secret_key is not None:
        open_vault(settings)
        return _ok("It is set.")
    path = key_path(settings.database)
    if path is None:
        fix = f"Set CIRCUMSPECT_SECRET_KEY, the same for every worker; make one with: {MAKE_KEY}"
        return _wrong("There is none, and the server does not start without one.", fix)
    if not path.exists():
        return _ok(f"{path} is made when the server starts. Back it up, apart from the database.")
    if open_to_others(path):
        return _wrong(f"Others on this machine can read {path}.", f"chmod 600 {path}")
    open_vault(settings)
    return _ok(f"It is in {path}, and only its owner can read it.")


async def _log_receivers(settings: Settings, online: bool) -> CheckAnswer | None:
    from circumspect.server.log_export import name_receivers
    from circumspect.server.startup_checks import check_receivers

    names = sorted(name_receivers(settings))
    if not names:
        return None
    check_receivers(settings)
    return _ok(f"The operators' log is sent to: {', '.join(names)}.")


async def _mail(settings: Settings, online: bool) -> CheckAnswer | None:
    if settings.smtp_url is None:
        return None
    if settings.mail_from is None:
        return _wrong("There is no sender for e-mails.", "Set mail_from, e.g. shop@example.org.")
    return await asyncio.to_thread(_mail_server, settings.smtp_url.get_secret_value())


def _mail_server(url: str) -> CheckAnswer:
    import smtplib

    parts = urlsplit(url)
    host, context = parts.hostname or "", ssl.create_default_context()
    try:
        server: smtplib.SMTP
        if parts.scheme == "smtps":
            server = smtplib.SMTP_SSL(host, parts.port or 465, timeout=5, context=context)
        else:
            server = smtplib.SMTP(host, parts.port or 587, timeout=5)
        with server:
            server.ehlo()
            if parts.scheme == "smtp" and server.has_extn("starttls"):
                server.starttls(context=context)
                server.ehlo()
            if parts.username:
                server.login(unquote(parts.username), unquote(parts.password or ""))
            server.noop()
    except smtplib.SMTPAuthenticationError:
        fix = "Check the user and the password in smtp_url (special characters percent-encoded)."
        return _wrong(f"{host} does not let us in.", fix)
    except (OSError, smtplib.SMTPException) as error:
        fix = "Check the host and the port in smtp_url; smtps:// is for servers that speak TLS from the start."
        return _wrong(f"{host} cannot be used: {type(error).__name__}.", fix)
    return _ok(f"{host} takes mail from us.")


async def _port(settings: Settings, online: bool) -> CheckAnswer:
    where = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            if os.name == "posix":
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((settings.host, settings.port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            if await asyncio.to_thread(_answers, settings):
                return _ok(f"A server answers at {where} already.")
            return _wrong(f"Something else listens on {where}.", "Choose another with --port.")
        if error.errno == errno.EACCES:
            return _wrong(f"This user may not listen on {where}.", "Choose one above 1023 with --port.")
        fix = "Set host to an address of this machine; 127.0.0.1 is for this machine only, 0.0.0.0 is for all."
        return _wrong(f"{where} cannot be listened on: {error.strerror}.", fix)
    return _ok(f"{where} is free.")


def _answers(settings: Settings) -> bool:
    """Is it a server of ours that has the port?"""
    from http.client import HTTPConnection, HTTPException

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    connection = HTTPConnection(host, settings.port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


CHECKS: dict[str, Check] = {
    "folder": _folder,
    "files": _files,
    "database": _database,
    "clock": _clock,
    "redis": _redis,
    "model": _model,
    "model prices": _model_prices,
    "embeddings": _embeddings,
    "search": _search,
    "secret key": _secret_key,
    "log receivers": _log_receivers,
    "mail": _mail,
    "port": _port,
}
