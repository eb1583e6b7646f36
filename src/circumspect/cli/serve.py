"""`circumspect serve`: the HTTP server, with one process or several.

What must happen once (migrations, the demo's tenants and key, taking the port) happens before any worker starts, so
that every mistake is one message. A worker that dies is started again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import secrets
import signal
import socket
import sys
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.options import config_option
from circumspect.errors import ConfigError
from circumspect.private_files import make_folder

if TYPE_CHECKING:
    from uvicorn import Config

    from circumspect.server.config import Settings
    from circumspect.stores import SqlStore

DEMO_TENANT = "shop"
DEMO_CONVERSATION = "demo"
DEMO_OPERATOR = "demo"
BACKLOG = 4096
"""Connections that may wait to be accepted: a thousand clients come at once, and then some."""

GRACE_SECONDS = 3.0
"""What answers have to go out, after the time for turns is over."""
MOST_FILES = 65_536
KEEP_ALIVE_SECONDS = 75
"""Longer than most clients keep a connection they do not use, so that they close it and not we under their hands."""


@click.command()
@click.option("--demo", is_flag=True, default=None, help="Add the sample tenants, and print a line to try.")
@click.option("--database", help="SQLite file or postgresql:// URL in which everything is kept.")
@click.option("--redis", help="redis:// URL: rate limits shared by all workers.")
@click.option("--host", help="Address to listen on; 0.0.0.0 is every one.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.  [default: 8000]")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes; several want PostgreSQL.  [default: 1]")
@click.option("--model", help="Model of tenants that name none.  [default: offline]")
@click.option(
    "--model-seconds",
    type=click.FloatRange(1, 3600),
    help="How long an answer of a model is waited for, all tries included.  [default: 60]",
)
@config_option
@click.pass_context
def serve(context: click.Context, /, config: Path | None, **options: Any) -> None:
    """Serve the HTTP API. Every setting also comes from the environment and from circumspect.toml.

    \b
    circumspect serve --demo
    circumspect serve --database postgresql://user@host/name --workers 4
    """
    group = context.parent
    if group is not None and group.get_parameter_source("log_level") is click.core.ParameterSource.COMMANDLINE:
        options["log_level"] = group.params["log_level"]
    from circumspect.server.config import load_settings
    from circumspect.server.request_log import configure_logs

    # Python tools of tenants are looked for where the command is run, as `python -m` would.
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    settings = load_settings(config, **options)
    configure_logs(settings.log_level)
    raise_file_limit()
    demo, first = asyncio.run(_prepare(settings))
    with ExitStack() as stack:
        listening = stack.enter_context(_listening(settings))
        _hand_on(options, config, stack)
        if settings.workers > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="circumspect-metrics-"))
            stack.callback(os.environ.pop, "PROMETHEUS_MULTIPROC_DIR", None)
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        _welcome(settings, listening, demo, first)
        _run(_build_config(settings), settings, listening)
    click.echo("Stopped.")


def raise_file_limit() -> None:
    """Every connection is an open file, and so are databases and the processes that read documents. Shells and systemd
    begin with 1,024, which a thousand idle clients use up; what the system allows is mostly much more."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if most == resource.RLIM_INFINITY else min(most, MOST_FILES)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


# --- before the workers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Demo:
    """How to get at the demo: the shop's API key, and a sign-in for the console."""

    key: str
    password: str


async def _prepare(settings: Settings) -> tuple[Demo | None, str]:
    """The database is up to date and the demo is in it when this returns; and the code that makes the first
    administrator, where there is nobody yet."""
    from circumspect.clock import SystemClock
    from circumspect.server.first_owner import is_nobody_there, seal_first_code
    from circumspect.server.routes.session import takes_passwords
    from circumspect.server.startup_checks import check_settings
    from circumspect.server.vault import open_vault
    from circumspect.stores import SqlStore

    if settings.workers > 1 and settings.database in (":memory:", "sqlite://", "sqlite:///:memory:"):
        raise ConfigError("Several workers cannot share a database in memory.", fix="Name a file, or PostgreSQL.")
    check_settings(settings)
    store = await SqlStore.open(settings.database)
    try:
        vault = open_vault(settings)
        demo = await _demo(store, settings) if settings.demo else None
        nobody = takes_passwords(settings) and await store.tx(is_nobody_there)
        return demo, seal_first_code(vault, SystemClock().now()) if nobody else ""
    finally:
        await store.close()


async def _demo(store: SqlStore, settings: Settings) -> Demo:
    from circumspect.clock import SystemClock
    from circumspect.demo.demo_data import seed_demo
    from circumspect.demo.samples.apply_samples import apply_samples
    from circumspect.demo.samples.desks import apply_desks
    from circumspect.stores import people
    from circumspect.values import ConversationId, TenantId

    await apply_samples(store, settings)
    await apply_desks(store, settings)
    tenant, now = TenantId(DEMO_TENANT), SystemClock().now()
    await store.tx(people.create_conversation, tenant, ConversationId(DEMO_CONVERSATION), "adaptive", now)
    if len(await store.conversations(tenant, 2)) < 2:
        click.echo("Playing the demo conversations (once, some seconds) …")
    told = logging.getLogger("circumspect")
    level = told.level
    told.setLevel(logging.ERROR)
    try:
        await seed_demo(store, settings)
    finally:
        told.setLevel(level)
    key = await _demo_key(store, settings, tenant, now.timestamp())
    return Demo(key, await _demo_password(store, settings, now.timestamp()))


async def _demo_key(store: SqlStore, settings: Settings, tenant: Any, now: float) -> str:
    """Made once, and kept where only its owner reads it. One that is revoked or of another database is replaced."""
    from circumspect.server import credentials
    from circumspect.server.stores import access

    path = demo_key_path(settings)
    kept = path.read_text("utf-8").strip() if path and path.is_file() else ""
    id_ = credentials.key_id(kept)
    known = await store.tx(access.key_by_id, id_) if id_ else None
    if known and credentials.same(known.hash, credentials.hash_token(kept)) and known.row.valid(now):
        return kept
    id_, key = credentials.new_key()
    row = access.KeyRow(id_, tenant, "demo", ("chat", "read", "manage", "admin"), now)
    await store.tx(access.add_key, row, credentials.hash_token(key))
    _keep(path, key)
    return key


async def _demo_password(store: SqlStore, settings: Settings, now: float) -> str:
    """For the operator `demo`, who may do everything here. Made anew where the one we kept is not theirs."""
    from circumspect.server import credentials
    from circumspect.server.stores import access

    path = _beside(settings, "demo.password")
    kept = path.read_text("utf-8").strip() if path and path.is_file() else ""
    known = await store.tx(access.operator_named, DEMO_OPERATOR)
    if kept and known is not None:
        return kept
    password = secrets.token_urlsafe(9)
    hashed = await asyncio.to_thread(credentials.hash_password, password)
    if known is None:
        row = access.OperatorRow(f"op_{secrets.token_hex(8)}", DEMO_OPERATOR, "admin", None, now)
        await store.tx(access.add_operator, row, hashed)
    else:
        await store.tx(access.set_password, known.id, hashed)
    _keep(path, password)
    return password


def _keep(path: Path | None, secret: str) -> None:
    """Where only its owner reads it."""
    if path is None:
        return
    make_folder(path.parent)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")


def demo_key_path(settings: Settings) -> Path | None:
    return _beside(settings, "demo.key")


def _beside(settings: Settings, name: str) -> Path | None:
    from circumspect.server.directory import data_directory

    folder = data_directory(settings.database)
    return folder / name if folder else None


def _listening(settings: Settings) -> socket.socket:
    """The port is ours, or one message says whose it seems to be."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((settings.host, settings.port))
        taken.listen(BACKLOG)
    except OSError as error:
        taken.close()
        where = f"{settings.host}:{settings.port}"
        if isinstance(error, socket.gaierror):
            raise ConfigError(f"There is no address '{settings.host}'.", fix="Try --host 127.0.0.1.") from None
        if isinstance(error, PermissionError):
            raise ConfigError(f"You may not listen on {where}.", fix="Choose a port above 1023 with --port.") from None
        raise ConfigError(
            f"Cannot listen on {where}: {error.strerror or error}.",
            fix="Stop the other program, or choose another port with --port (0 takes a free one).",
        ) from None
    taken.set_inheritable(True)
    return taken


def _hand_on(options: dict[str, Any], config: Path | None, stack: ExitStack) -> None:
    """Workers read the settings for themselves; what was said on the command line comes to them by the environment."""
    given = {f"CIRCUMSPECT_{name.upper()}": str(value) for name, value in options.items() if value is not None}
    for name in [f"{name}_FILE" for name in given]:
        if (named := os.environ.pop(name, None)) is not None:
            stack.callback(os.environ.__setitem__, name, named)
    if config is not None:
        given["CIRCUMSPECT_CONFIG"] = str(config)
    for name, value in given.items():
        before = os.environ.get(name)
        stack.callback(os.environ.__setitem__, name, before) if before is not None else stack.callback(
            os.environ.pop, name, None
        )
        os.environ[name] = value


def _welcome(settings: Settings, listening: socket.socket, demo: Demo | None, first: str) -> None:
    from circumspect.server.config import without_password

    host, port = listening.getsockname()[:2]
    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    base = f"http://{reached}:{port}"
    many = "1 worker" if settings.workers == 1 else f"{settings.workers} workers"
    model = settings.model.partition("@")[0]
    click.secho(f"Circumspect listens on {base}", bold=True)
    click.echo(f"  {many} · database {without_password(settings.database)} · model {model}")
    sign_in = f"  (sign in as {DEMO_OPERATOR} with {demo.password})" if demo else ""
    click.secho(f"  console          {base}/{sign_in}", bold=bool(demo))
    click.echo(f"  API description  {base}/openapi.json")
    click.echo(f"  ready?           {base}/readyz")
    closed = "" if settings.metrics_token else "  (closed: set CIRCUMSPECT_METRICS_TOKEN)"
    click.echo(f"  metrics          {base}/metrics{closed}")
    if not (settings.public_url or settings.allowed_hosts) and not host.startswith(("127.", "::1")):
        click.secho("  Others reach it by address only: for names, set public_url or allowed_hosts.", fg="yellow")
    if settings.workers > 1 and not settings.database.startswith("postgres"):
        click.secho("  Several workers share one SQLite file: it works, and PostgreSQL is quicker.", fg="yellow")
    if model == "offline":
        click.echo("  The offline demo model answers: no key, nothing leaves this machine. Others: --model openai:…")
    if demo is not None:
        path = demo_key_path(settings)
        kept = f" (its key is kept in {path})" if path else ""
        click.echo(f"\nTry the demo shop{kept}:\n")
        click.echo(
            f"  curl -s {base}/v1/conversations/{DEMO_CONVERSATION}/messages \\\n"
            f"    -H 'Authorization: Bearer {demo.key}' \\\n"
            "    -H 'Content-Type: application/json' \\\n"
            '    -d \'{"content": "cancel order 12345"}\'\n'
        )
        click.echo(
            f"It goes on with one conversation. Another is begun by a POST of its id to {base}/v1/conversations.\n"
        )
    elif first:
        # With the prefix of the public address, if there is one: the proxy is where the browser goes.
        at = settings.public_url.rstrip("/") if settings.public_url else base
        click.echo("\nNobody can sign in yet. Begin in the browser (the link is good for a day):\n")
        click.secho(f"  {at}/begin?code={first}\n", bold=True)
    else:
        click.echo("  Keys for tenants: circumspect keys create --tenant NAME")
        click.echo("  People for the console: circumspect operators add NAME --role admin")
    click.echo("Press Ctrl-C to stop.")
    sys.stdout.flush()


# --- the workers ----------------------------------------------------------------------------------------------------


def _build_config(settings: Settings) -> Config:
    from uvicorn import Config

    from circumspect.server.http_protocol import Wire

    return Config(
        "circumspect.server.console.worker_app:worker_app",
        factory=True,
        http=Wire,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=list(settings.trusted_proxies),
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ws="none",
        # Turns are broken off before that, so that whoever waits for one is told.
        timeout_graceful_shutdown=math.ceil(settings.drain_seconds + GRACE_SECONDS),
        lifespan="on",
    )


def _run(config: Config, settings: Settings, listening: socket.socket) -> None:
    from uvicorn import Server
    from uvicorn.supervisors import Multiprocess

    # uvicorn raises the signal again once everything is closed; by then there is nothing left to end.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda number, frame: None)
    if settings.workers == 1:
        server = Server(config)
        try:
            server.run(sockets=[listening])
        except SystemExit:
            raise ConfigError("The server could not start.", fix="The log above says why.") from None
        return
    _tell_of_workers()
    Multiprocess(config, sockets=[listening]).run()


def _tell_of_workers() -> None:
    """One line when a worker dies; uvicorn counts that as small talk."""
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel("INFO")
    logger.addFilter(lambda record: record.levelno >= logging.WARNING or "died" in record.getMessage())
