"""http_definition: what a tenant's file says about an HTTP tool, checked when it is loaded.

name: cancel_order
description: Cancel an order.
parameters: {type: object, properties: {order_id: {type: string}}, required: [order_id]}
effect: destructive
recovery: keyed
request: {method: POST, url: "https://crm.example.com/orders/{order_id}/cancel", json: {why: "asked by phone"}}
auth: {bearer: {secret: crm_token}}
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self
from urllib.parse import quote

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from circumspect.errors import ConfigError
from circumspect.tools.definitions import (
    Definition,
    Seconds,
    Secret,
    ToolName,
    check_languages,
    check_result_schema,
    check_schema,
)
from circumspect.tools.templates import KEY, names_in, pieces, url_names
from circumspect.values import Effect, Recovery

HttpMethod = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
"""Headers that decide where a request goes or where it ends."""
_SECRET_HEADERS = frozenset(("authorization", "cookie", "x-api-key", "api-key"))


class Basic(Definition):
    username: str | Secret
    password: Secret


class NamedSecret(Definition):
    """A header or a query value of that name."""

    name: str
    value: Secret


class Auth(Definition):
    """One way to show who we are. Exactly one of the four is given."""

    bearer: Secret | None = None
    basic: Basic | None = None
    header: NamedSecret | None = None
    query: NamedSecret | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("give one of bearer, basic, header, query")
        return self

    def secrets(self) -> Iterator[str]:
        for one in (self.bearer, self.basic and self.basic.username, self.basic and self.basic.password):
            if isinstance(one, Secret):
                yield one.secret
        for named in (self.header, self.query):
            if named:
                yield named.value.secret

    def build_credentials(self, values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
        """Headers, query values, and every spelling in which a secret may come back."""
        hidden = [spelling for name in self.secrets() for spelling in (values[name], quote(values[name], safe=""))]
        if self.bearer:
            return {"Authorization": f"Bearer {values[self.bearer.secret]}"}, {}, hidden
        if self.basic:
            user = self.basic.username
            user = values[user.secret] if isinstance(user, Secret) else user
            pair = b64encode(f"{user}:{values[self.basic.password.secret]}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}, {}, [*hidden, pair]
        if self.header:
            return {self.header.name: values[self.header.value.secret]}, {}, hidden
        assert self.query
        return {}, {self.query.name: values[self.query.value.secret]}, hidden


class HttpRequest(Definition):
    """A request with placeholders. Of `json`, `form` and `text` at most one is given."""

    method: HttpMethod = "GET"
    url: str
    headers: Mapping[str, str] = Field(default_factory=dict)
    query: Mapping[str, JsonValue] = Field(default_factory=dict)
    json_body: JsonValue = Field(default=None, alias="json")
    form: Mapping[str, JsonValue] | None = None
    text: str | None = None
    result: str = ""
    """What of the answer counts, in JMESPath: `data.orders[].{id: id, status: status}`. Left out: all of it."""

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        bodies = [name for name in ("json_body", "form", "text") if name in self.model_fields_set]
        if len(bodies) > 1:
            raise ValueError("give one of json, form, text")
        if bodies and self.method in ("GET", "HEAD"):
            raise ValueError(f"a {self.method} request has no body; use query")
        return self

    @property
    def has_json(self) -> bool:
        return "json_body" in self.model_fields_set

    def names(self) -> set[str]:
        every = names_in(dict(self.headers)) | names_in(dict(self.query)) | url_names(self.url)[0]
        return every | names_in(self.json_body) | names_in(dict(self.form or {})) | names_in(self.text)


def _as_list(said: object) -> object:
    return (said,) if isinstance(said, Mapping | Auth) else said


class TestBackEnd(Definition):
    """The same tool where nothing that happens matters: the playground's calls go there, and no others."""

    __test__ = False
    request: HttpRequest
    auth: Annotated[tuple[Auth, ...], BeforeValidator(_as_list)] = ()
    """Its own: the real back end's is never sent there."""


class HttpToolDefinition(Definition):
    name: ToolName
    description: str = ""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    returns: Mapping[str, JsonValue] = Field(default_factory=dict)
    """JSON schema of its results, so that conditions on them are checked."""
    effect: Effect | None = None
    recovery: Recovery | None = None
    """Left out: `lookup` where a lookup is given, else `blind`."""
    timeout: Seconds = 30.0
    phrases: Mapping[str, str] = Field(default_factory=dict)
    open_world: bool = False
    request: HttpRequest
    auth: Annotated[tuple[Auth, ...], BeforeValidator(_as_list)] = ()
    """One, or a list where a service wants several."""
    idempotency_header: str | None = "Idempotency-Key"
    """Carries the key of a call that changes something: the same for every attempt at the same call."""
    lookup: HttpRequest | None = None
    """Asks whether the call with `{idempotency_key}` happened: its result, or 404 or null."""

    test: TestBackEnd | None = None
    """Where the playground makes the tool's calls; without it they are only rehearsed."""

    def secrets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.auth for name in one.secrets()))

    def at_test(self) -> HttpToolDefinition | None:
        """The tool as it is called at its test back end, whose outcome nobody looks up."""
        if self.test is None:
            return None
        recovery = None if self.recovery == "lookup" else self.recovery
        changed = {"request": self.test.request, "auth": self.test.auth, "lookup": None, "test": None}
        return self.model_copy(update={**changed, "recovery": recovery})


def check(definition: HttpToolDefinition) -> None:
    """Everything that can be known to be wrong before the first call. Raises `ConfigError`."""
    name = definition.name
    check_schema(name, definition.parameters)
    check_result_schema(name, definition.returns)
    check_languages(name, definition.phrases)
    properties = definition.parameters.get("properties")
    known = set(properties) if isinstance(properties, Mapping) else set()
    if KEY in known:
        raise ConfigError(f"{name}: a parameter cannot be named '{KEY}'.", fix="That name stands for the call's key.")
    for phrase in definition.phrases.values():
        _only_known(name, "a phrase", {part for _, part in pieces(phrase) if part}, known)
    for place, request in (("request", definition.request), ("lookup", definition.lookup)):
        if request:
            _only_known(name, f"the {place}", request.names(), known | {KEY})
            _check_request(definition, place, request)
    for one in definition.auth:
        _check_auth(definition, one)
    _check_recovery(definition)
    if (at_test := definition.at_test()) is not None:
        check(at_test)


def _only_known(owner: str, place: str, named: set[str], known: set[str]) -> None:
    if strange := sorted(named - known):
        raise ConfigError(
            f"{owner}: {place} names '{{{strange[0]}}}', which is no parameter of the tool.",
            fix=f"Use {', '.join(f'{{{one}}}' for one in sorted(known)) or 'no braces'}, or add it to the parameters.",
        )


def _check_request(definition: HttpToolDefinition, place: str, request: HttpRequest) -> None:
    name = f"{definition.name}: the {place}"
    needed = url_names(request.url)[1]
    if optional := sorted(one for one in needed if one != KEY and not _always_there(definition, one)):
        raise ConfigError(
            f"{name} has '{{{optional[0]}}}' in its address, and that parameter can be left out.",
            fix=f"Make it required, give it a default, or write {{?{optional[0]}}} at the end of the URL.",
        )
    for header in request.headers:
        _check_header(name, header)
        if header.lower() in _SECRET_HEADERS:
            raise ConfigError(f"{name} has a header '{header}'.", fix="Name a secret under 'auth' instead.")
    if request.text is not None and names_in(request.text) and len(pieces(request.text)) != 1:
        raise ConfigError(
            f"{name} puts an argument into a text, where nothing would be quoted.",
            fix="Let the text be one placeholder, or use json or form.",
        )
    if request.result:
        _check_result(name, request.result)


def _always_there(definition: HttpToolDefinition, parameter: str) -> bool:
    required = definition.parameters.get("required")
    properties = definition.parameters.get("properties")
    schema = properties.get(parameter) if isinstance(properties, Mapping) else None
    return (isinstance(required, list) and parameter in required) or (isinstance(schema, dict) and "default" in schema)


def _check_result(name: str, expression: str) -> None:
    import jmespath

    try:
        jmespath.compile(expression)
    except jmespath.exceptions.JMESPathError as error:
        problem = " ".join(str(error).split())
        raise ConfigError(
            f"{name}: '{expression}' is no JMESPath: {problem}", fix="See https://jmespath.org."
        ) from None


def _check_header(name: str, header: str) -> None:
    if not _TOKEN.fullmatch(header) or header.lower() in _OURS:
        raise ConfigError(f"{name} cannot set a header '{header}'.", fix="Use another header, or none.")


def _check_auth(definition: HttpToolDefinition, auth: Auth) -> None:
    if auth.header:
        _check_header(f"{definition.name}: auth", auth.header.name)
    if auth.query and not auth.query.name:
        raise ConfigError(f"{definition.name}: auth has a query value without a name.", fix="Name it.")


def _check_recovery(definition: HttpToolDefinition) -> None:
    name, recovery = definition.name, definition.recovery
    if definition.idempotency_header is not None:
        _check_header(name, definition.idempotency_header)
    if recovery == "local_tx":
        raise ConfigError(
            f"{name} is called over HTTP, so it cannot be part of our own transactions.",
            fix="Use 'keyed', 'lookup' or 'blind'.",
        )
    if recovery == "keyed" and definition.idempotency_header is None and KEY not in definition.request.names():
        raise ConfigError(
            f"{name} promises to honour an idempotency key and sends none.",
            fix=f"Set idempotency_header, or use {{{KEY}}} in the request, or declare another recovery.",
        )
    if recovery is not None and (recovery == "lookup") != (definition.lookup is not None):
        raise ConfigError(
            f"{name}: recovery is '{recovery}' and lookup is {'given' if definition.lookup else 'missing'}.",
            fix="Give a lookup request together with recovery: lookup, or neither.",
        )
    if definition.lookup and definition.lookup.method not in ("GET", "HEAD", "POST"):
        raise ConfigError(f"{name}: a lookup changes nothing.", fix="Use GET, or POST where a search needs a body.")
