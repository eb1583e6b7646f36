"""The server's settings: options, environment and `circumspect.toml` in, one frozen `Settings` out.

What is passed wins over the environment, the environment over the file, the file over the default. An unknown key in
the file is refused, because a misspelt limit is a limit that nobody set. The one choice that may surprise: `read` never
raises. It keeps what is right, puts defaults where something is wrong and says so, because `circumspect doctor` has to
work when nothing else does; `load_settings` is the same with an error for any problem.
"""

from __future__ import annotations

import difflib
import ipaddress
import logging
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from circumspect.errors import ConfigError
from circumspect.models.pricing import read_price
from circumspect.secret_files import read_secret_files
from circumspect.server.stores.access import OperatorRole
from circumspect.settings_places import DATABASE, PREFIX, find_settings_file
from circumspect.stores.bounds import LOCK_SECONDS
from circumspect.stores.lasting_files import MIN_FREE_BYTES

log = logging.getLogger(__name__)

SHORTEST_SECRET = 32
MAKE_KEY = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'

_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*\.?", re.I)


def _split_list(value: object) -> object:
    """In an environment variable a list is written with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _address_or_host(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        if _HOST.fullmatch(text) and not re.fullmatch(r"[\d.]+(/.*)?", text):
            return text.lower()
    raise ValueError(f"'{text}' is neither an address such as 10.0.0.0/8 nor a host name")


def _issuer(text: str) -> str:
    parts = urlsplit(text)
    here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or parts.query or parts.fragment or not (parts.scheme == "https" or here):
        raise ValueError("write the provider's https:// address, without a query")
    return text


def _group_role(text: str) -> str:
    group, _, role = text.partition("=")
    if not group.strip() or role.partition(":")[0] not in ("operator", "reviewer", "admin"):
        raise ValueError(f"'{text}' is not GROUP=ROLE or GROUP=ROLE:TENANT+TENANT; roles: operator, reviewer, admin")
    return text


def _check_price(text: str) -> str:
    read_price(text)
    return text


def _proxy(text: str) -> str:
    try:
        return text if text == "*" else str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise ValueError(f"'{text}' is not an address such as 10.0.0.5 or 10.0.0.0/8 (or * for any)") from None


def _host_name(text: str) -> str:
    name = text.lower().removesuffix(".")
    plain = name.removeprefix("*.").strip("[]")
    if name != "*" and not _HOST.fullmatch(plain):
        try:
            return str(ipaddress.ip_address(plain))
        except ValueError:
            raise ValueError(f"'{text}' is no host name such as agent.example.org (no scheme, no port)") from None
    return name


def _url(*schemes: str) -> AfterValidator:
    def check_url(text: str) -> str:
        try:
            parts = urlsplit(text)
            usable = parts.scheme in schemes and (bool(parts.hostname) or parts.scheme == "unix")
            _ = parts.port
        except ValueError:
            usable = False
        if not usable:
            # What was given is not repeated: it may hold a password.
            raise ValueError(f"write a URL that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return text

    return AfterValidator(check_url)


def _plain_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.query or parts.fragment or not re.fullmatch(r"(/(?!\.)[A-Za-z0-9._~-]+)*/?", parts.path):
        raise ValueError("its path has plain names only, such as https://host/agent, and no query")
    return url


def _secret_url(*schemes: str) -> AfterValidator:
    check = _url(*schemes).func

    def check_url(secret: SecretStr) -> SecretStr:
        check(secret.get_secret_value())  # type: ignore[call-arg]
        return secret

    return AfterValidator(check_url)


def secret_keys(secret: SecretStr) -> tuple[str, ...]:
    """The keys in it, the one that seals first."""
    return tuple(part.strip() for part in secret.get_secret_value().split(",") if part.strip())


def _long_enough(secret: SecretStr) -> SecretStr:
    keys = secret_keys(secret)
    if not keys or any(len(key) < SHORTEST_SECRET for key in keys):
        raise ValueError(f"each key needs {SHORTEST_SECRET} characters or more; make one with: {MAKE_KEY}")
    return secret


ModelPrices = Annotated[
    tuple[Annotated[str, AfterValidator(_check_price)], ...], NoDecode, BeforeValidator(_split_list)
]
Hosts = Annotated[
    tuple[Annotated[str, AfterValidator(_address_or_host)], ...],
    NoDecode,
    BeforeValidator(_split_list),
]
HostNames = Annotated[tuple[Annotated[str, AfterValidator(_host_name)], ...], NoDecode, BeforeValidator(_split_list)]
Proxies = Annotated[tuple[Annotated[str, AfterValidator(_proxy)], ...], NoDecode, BeforeValidator(_split_list)]
Roles = Annotated[tuple[OperatorRole, ...], NoDecode, BeforeValidator(_split_list)]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_list)]
LogLevel = Literal["debug", "info", "warning", "error"]
CookieSecure = Literal["auto", "always", "never"]
Provision = Literal["known", "create"]
GroupRoles = Annotated[
    tuple[Annotated[str, AfterValidator(_group_role)], ...],
    NoDecode,
    BeforeValidator(_split_list),
]


class Settings(BaseSettings):
    """How the server runs. Each can be given as an option, in the environment, or in the file."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    database: str = Field(DATABASE, min_length=1, repr=False)
    """An SQLite file or a postgresql:// URL."""
    redis: Annotated[str, _url("redis", "rediss", "unix")] | None = Field(None, repr=False)
    """A redis:// URL: shared rate limits and streams across workers. Never decides whether something runs."""
    host: str = Field("127.0.0.1", min_length=1)
    """The address to listen on; 0.0.0.0 is every one."""
    port: int = Field(8000, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""
    workers: int = Field(1, ge=1, le=256)
    """Processes; more than one wants PostgreSQL."""
    model: str = Field("offline", min_length=1)
    """The model of tenants that name none."""
    model_seconds: float = Field(60, ge=1, le=3_600)
    """How many seconds an answer of a model is waited for, all tries included: 1 to 3600."""
    model_prices: ModelPrices = ()
    """What models cost that have no list price, `MODEL=IN/OUT`: US dollars for a million tokens in and out."""
    secret_key: Annotated[SecretStr, AfterValidator(_long_enough)] | None = None
    """Seals the tenants' secrets; several with commas, the newest first."""
    public_url: Annotated[str, _url("https", "http"), AfterValidator(_plain_path)] | None = None
    """Where people reach the server, for links and cookies; it may have a path."""
    allowed_hosts: HostNames = ()
    """Names that the server answers to besides that of public_url; *.example.org is one level below it, * is any."""
    demo: bool = False
    """Add the sample tenants."""
    log_level: LogLevel = "info"
    """JSON log lines of this level and above."""
    max_body_bytes: int = Field(1_000_000, ge=1_000)
    """The largest request."""
    max_upload_bytes: int = Field(30_000_000, ge=1_000)
    """The largest upload of documents, all of its files together."""
    rate_per_minute: int = Field(600, ge=1)
    """Requests a minute for each tenant that has no limit of its own."""
    lane_at_once: int = Field(2, ge=1, le=64)
    """Long computations of each kind (policies, documents, pages, transcripts, trials) that a worker does at a time."""
    lane_per_tenant: int = Field(1, ge=1, le=64)
    """How many of those may be one tenant's."""
    lane_waiting: int = Field(8, ge=0, le=10_000)
    """How many more of one tenant's may wait; what comes then is refused with 429."""
    document_seconds: float = Field(60, ge=1, le=3_600)
    """How long reading one document, page, policy or set of transcripts may compute; on a busy machine it may take
    twice as long."""
    document_megabytes: int = Field(512, ge=64, le=65_536)
    """How much memory reading one document, page, policy or set of transcripts may take, on Linux."""
    allow_addresses: Hosts = ()
    """Private addresses, networks or hosts that tools and webhooks may reach all the same."""
    smart_model: str | None = Field(None, min_length=1)
    """The model that thinks for browser agents; without it the tenant's own."""
    smart_model_fallback: str | None = Field(None, min_length=1)
    """Thinks when that one cannot be had."""
    fast_model: str | None = Field(None, min_length=1)
    """The model that words their actions; without it the one that thinks."""
    smart_model_temperature: float = Field(0.3, ge=0, le=2)
    """How freely the one that thinks does so: low, so that it decides alike twice."""
    fast_model_temperature: float = Field(0.7, ge=0, le=2)
    """How freely the other words what it says."""
    search: str = Field("documents", min_length=1)
    """Where browser agents search: documents (the tenant's own), tavily, searxng:URL or none."""
    search_key: SecretStr | None = None
    """Tavily's API key; without it, TAVILY_API_KEY."""
    embeddings: str | None = Field(None, min_length=1)
    """Search by meaning as well, with an embeddings model: openai:text-embedding-3-small, or openai:NAME@URL."""
    drain_seconds: float = Field(30, ge=0)
    """How long turns in flight may take to end when the server is stopped."""
    stop_delay_seconds: float = Field(0, ge=0, le=3_600)
    """On SIGTERM, how long the server goes on serving while /readyz says that it stops: for a proxy to notice."""
    min_free_bytes: int = Field(MIN_FREE_BYTES, ge=0)
    """With less room than this on the disk of an SQLite database nothing new is begun, and /readyz says so."""
    lock_seconds: float = Field(LOCK_SECONDS, gt=0, le=600)
    """How long a lock of the database is waited for before a request is refused with 503."""
    repeat_hours: float = Field(24, ge=0)
    """A call that a worker left open is not made again so long after it began; a person is told instead."""
    smtp_url: Annotated[SecretStr, _secret_url("smtp", "smtps")] | None = None
    """smtp://user:password@host:587 (STARTTLS) or smtps://…:465."""
    mail_from: str | None = Field(None, pattern=r"^[^\r\n]*[^@\s]@[^@\s]+[^\r\n]*$")
    """The sender of e-mails."""
    session_hours: float = Field(12, gt=0, le=24 * 90)
    """How long an operator stays signed in."""
    session_idle_minutes: float = Field(120, ge=1, le=60 * 24 * 90)
    """How long an operator stays signed in without doing anything."""
    prove_again_minutes: float = Field(15, gt=0, le=60 * 24 * 90)
    """How long after proving who they are operators may approve and change what is dangerous without doing it again."""
    second_factor_roles: Roles = ()
    """Roles that need more than a password: they get to nothing before they have set up a code app or a passkey."""
    cookie_secure: CookieSecure = "auto"
    """Send the session cookie over HTTPS only; auto: when the server is reached by HTTPS."""
    oidc_issuer: Annotated[str, AfterValidator(_issuer)] | None = None
    """An OpenID Connect provider where operators sign in, exactly as it writes its own address."""
    oidc_client_id: str = Field("circumspect", min_length=1)
    """How the provider knows this server."""
    oidc_client_secret: SecretStr | None = None
    """What the server shows the provider; none for a public client."""
    oidc_label: str = Field("OpenID Connect", min_length=1, max_length=60)
    """What the provider is called on the sign-in page."""
    oidc_scopes: Words = ("openid", "profile", "email")
    """What is asked of the provider."""
    oidc_name_claim: str = Field("email", min_length=1)
    """The claim with the operator's name. An e-mail address counts only if the provider says that it is verified."""
    oidc_groups_claim: str = Field("groups", min_length=1)
    """The claim with a person's groups."""
    oidc_roles: GroupRoles = ()
    """Roles by group: GROUP=ROLE or GROUP=ROLE:TENANT+TENANT; the first that fits counts. None: roles are ours."""
    oidc_provision: Provision = "known"
    """known: only operators who are here already; create: whoever has a group of oidc_roles."""
    password_sign_in: bool = True
    """Passwords let operators in, too; false leaves the provider alone."""
    metrics_token: Annotated[SecretStr, Field(min_length=16)] | None = None
    """Opens /metrics to whoever sends it as a bearer token; without one they are closed."""
    log_syslog: Annotated[str, _url("udp", "tcp", "tls")] | None = None
    """Where the operators' log is sent by syslog (RFC 5424): udp://host:514, tcp://host:601 or tls://host:6514."""
    log_syslog_ca: str | None = Field(None, min_length=1)
    """A PEM file with the authority of a tls:// receiver; without it those of the system count."""
    log_webhook: Annotated[SecretStr, _secret_url("https", "http")] | None = None
    """Where the operators' log is sent as signed JSON."""
    log_webhook_secret: SecretStr | None = None
    """What it is signed with, as tenants' webhooks are."""
    log_keep_days: int | None = Field(None, ge=30, le=36_500)
    """Rows of the operators' log older than this are given up, once every receiver has had them; none keeps all."""
    trusted_proxies: Proxies = ("127.0.0.1/32", "::1/128")
    """Proxies whose X-Forwarded headers are believed."""


HIDDEN = {"secret_key", "metrics_token", "search_key", "oidc_client_secret", "log_webhook", "log_webhook_secret"}
"""Never shown, not even in part."""
URLS = {"database", "redis", "smtp_url", "public_url"}
"""May hold a password, which is not shown."""

SettingOrigin = Literal["option", "environment", "file", "secret file", "default"]


@dataclass(frozen=True, slots=True)
class SettingsReading:
    """The settings as far as they could be read, where each came from, and what is wrong with which."""

    settings: Settings
    origins: Mapping[str, SettingOrigin]
    problems: Mapping[str, str]
    """By setting; what has to do with the file as a whole is under its path."""
    file: Path | None
    secret_files: Mapping[str, Path] = field(default_factory=dict)
    """Where a secret was read from, by setting."""
    open_files: tuple[Path, ...] = ()
    """Those of them that every user of this machine can read."""


def load_settings(config: str | Path | None = None, **overrides: Any) -> Settings:
    """The settings; what is passed as None counts as not passed. Raises `ConfigError` that names every problem."""
    reading = read(config, **overrides)
    if not reading.problems:
        for path in reading.open_files:
            log.warning("every user of this machine can read a secret: chmod 600 %s", path)
        return reading.settings
    lines = [f"{label_setting(name, reading)}: {problem}" for name, problem in reading.problems.items()]
    raise ConfigError("; ".join(lines) + ".", fix="Correct it; `circumspect doctor` shows every setting.")


def label_setting(name: str, reading: SettingsReading) -> str:
    """A setting as the person wrote it."""
    match reading.origins.get(name):
        case "environment":
            return f"{PREFIX}{name.upper()}"
        case "file":
            return f"{name} in {reading.file}"
        case "option":
            return f"--{name.replace('_', '-')}"
        case "secret file":
            return f"{name} from a file"
    return name


def read(config: str | Path | None = None, **overrides: Any) -> SettingsReading:
    """Everything that can be read, and a problem for everything that cannot."""
    problems: dict[str, str] = {}
    path, missing = find_settings_file(config)
    if missing:
        problems[missing] = "there is no such file"
    filed = _from_file(path, problems) if path else {}
    given = {name: value for name, value in overrides.items() if value is not None}
    known = Settings.model_fields
    for name in given.keys() - known.keys():
        problems[name] = f"there is no such setting{near(name, known)}"
    given = {name: value for name, value in given.items() if name in known}
    set_outside = {name.lower() for name, value in os.environ.items() if value}
    origins: dict[str, SettingOrigin] = {
        name: "option"
        if name in given
        else "environment"
        if f"{PREFIX}{name}".lower() in set_outside
        else "file"
        if name in filed
        else "default"
        for name in known
    }
    secrets = read_secret_files(find_secrets(), given, filed, PREFIX, not_by_value=("database",))
    origins |= dict.fromkeys(secrets.places, "secret file")
    values = {name: value for name, value in filed.items() if origins[name] == "file"} | given | secrets.values
    settings = _validate_settings(values, problems)
    problems |= secrets.problems
    return SettingsReading(settings, origins, problems, path, secrets.places, tuple(secrets.open_files))


def find_secrets() -> list[str]:
    """Settings that hold a secret, or a URL that may hold one."""
    known = Settings.model_fields.items()
    return [name for name, about in known if "SecretStr" in str(about.annotation) or name in ("database", "redis")]


def near(name: str, known: Mapping[str, object] | list[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def _validate_settings(values: dict[str, Any], problems: dict[str, str]) -> Settings:
    try:
        return Settings(**values)
    except ValidationError as error:
        wrong = {str(one["loc"][0]): one["msg"].removeprefix("Value error, ") for one in error.errors()}
    problems |= wrong
    # A second time with what is right: `doctor` goes on from there. `model_construct` reads no environment.
    right: dict[str, Any] = {}
    for name, known in Settings.model_fields.items():
        if name not in wrong:
            alone = _alone(name, values)
            right[name] = known.get_default() if alone is None else alone
    return Settings.model_construct(**right)


def _alone(name: str, values: dict[str, Any]) -> Any:
    """One setting's value, with nothing else in the way."""
    variable = f"{PREFIX}{name}".lower()
    raw = values.get(name)
    if name not in values:
        raw = next((value for key, value in os.environ.items() if key.lower() == variable and value), None)
    if raw is None:
        return None
    checked = Settings.__pydantic_validator__.validate_assignment(Settings.model_construct(), name, raw)
    return getattr(checked, name)


def _from_file(path: Path, problems: dict[str, str]) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        problems[str(path)] = f"this is not TOML: {error}"
        return {}
    except (OSError, UnicodeDecodeError) as error:
        problems[str(path)] = f"it cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}"
        return {}
    known = Settings.model_fields
    for name in found.keys() - known.keys():
        problems[f"{name} in {path}"] = f"there is no such setting{near(name, known)}"
    return {name: value for name, value in found.items() if name in known}


def render_setting(name: str, value: object) -> str:
    """A setting's value for a person's eyes: no key, no password."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None:
        return ""
    if name in HIDDEN:
        return "set, not shown"
    if name in URLS:
        return without_password(str(value))
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def without_password(url: str) -> str:
    """Everything between the scheme and the last `@` of the authority goes, since a badly written URL may have the
    password anywhere in it; so does the query, which can hold one too."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    head, query, _ = rest.partition("?")
    _, at, tail = head.rpartition("@")
    return f"{scheme}://{'…@' if at else ''}{tail}{'?…' if query else ''}"
