"""From a name to a model, and what a person is told when that does not work."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.models.conftest import asks
from tests.models.provider_server import ProviderServer, Status
from tests.models.wire_formats import Answer

from circumspect.demo.offline import OfflineModel
from circumspect.errors import ConfigError
from circumspect.models import ModelTraits, ProviderSettings, ScriptedModel, open_model
from circumspect.models.fallback import FallbackModel
from circumspect.models.providers import ProviderModel
from circumspect.models.spec import Spec, parse
from circumspect.models.traits import find_traits

LOCAL = "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("openai:gpt-4o", Spec("openai", "gpt-4o")),
        ("OpenAI: gpt-4o ", Spec("openai", "gpt-4o")),
        ("ollama:llama3:8b", Spec("ollama", "llama3:8b")),
        (f"openai:org/name@{LOCAL}", Spec("openai", "org/name", LOCAL)),
        (f"openai:m@{LOCAL}/;tools=json_schema", Spec("openai", "m", LOCAL, ModelTraits(tools="json_schema"))),
        (
            f"openai:m@{LOCAL};schema=prompted;key=MY_KEY",
            Spec("openai", "m", LOCAL, ModelTraits(schema="prompted"), "MY_KEY"),
        ),
        (f"openai:m@{LOCAL};timeout=180", Spec("openai", "m", LOCAL, timeout=180.0)),
        ("google:model@2024", Spec("google", "model@2024")),
    ],
)
def test_a_name_is_read(text: str, spec: Spec) -> None:
    assert parse(text) == spec


@pytest.mark.parametrize(
    "text",
    ["gpt-4o", "openai:", ":gpt-4o", "openai", f"openai:m@{LOCAL};tools=magic", f"openai:m@{LOCAL};temperature=2",
     f"openai:m@{LOCAL};timeout=0", f"openai:m@{LOCAL};timeout=-1", f"openai:m@{LOCAL};timeout=long",
     "openai:m;key=not a name", "openai:m@http://", "openai:m@http://host:99999/v1", "openai:m@http://[::1/v1"],
)  # fmt: skip
def test_a_name_that_is_not_understood_says_how_to_write_it(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_model(text)
    assert caught.value.fix


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        open_model("openai:m@http://user:hunter2@127.0.0.1:8080/v1")
    assert "hunter2" not in str(caught.value)


def test_a_name_in_records_has_no_path_and_no_query() -> None:
    assert parse("openai:m@https://gateway.example/team-token/v1?k=1").name == "openai:m@gateway.example"


@pytest.mark.parametrize(
    ("spec", "variable"), [("openai:gpt-4o", "OPENAI_API_KEY"), ("anthropic:claude-opus-4-8", "ANTHROPIC_API_KEY"),
                           (f"openai:m@{LOCAL};key=MY_KEY", "MY_KEY")],
)  # fmt: skip
def test_a_missing_key_says_which_variable_to_set(spec: str, variable: str) -> None:
    with pytest.raises(ConfigError, match=f"Set {variable}"):
        open_model(spec)


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ConfigError, match="no provider 'opnai'"):
        open_model("opnai:gpt-4o")


def test_a_provider_whose_package_is_missing_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"pydantic-ai-slim\[groq\]"):
        open_model("groq:llama-3.3-70b-versatile")


def test_further_providers_of_pydantic_ai_are_opened_by_their_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        open_model("deepseek:deepseek-chat")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-1")
    assert open_model("deepseek:deepseek-chat").name == "deepseek:deepseek-chat"


async def test_a_further_provider_is_asked_once_per_try(server: ProviderServer) -> None:
    async def wait(seconds: float) -> None: ...

    model = open_model(
        "ollama:some-model", settings=ProviderSettings(base_url=f"{server.url}/v1", api_key="k", sleep=wait)
    )
    assert isinstance(model, ProviderModel)
    server.plays(Status(500), Answer("hello"))
    reply = await model.complete(asks())
    assert (reply.text, reply.usage.attempts, len(server.requests)) == ("hello", 2, 2)
    await model.aclose()


def test_a_model_is_returned_as_it_is() -> None:
    model = ScriptedModel()
    assert open_model(model) is model
    assert open_model([model]) is model


def test_the_offline_model_is_the_default_even_where_a_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert isinstance(open_model(), OfflineModel)
    assert isinstance(open_model("offline"), OfflineModel)


async def test_the_offline_model_may_end_a_chain(server: ProviderServer) -> None:
    chain = open_model(f"openai:m@{server.url}/v1, offline")
    server.plays(Status(401))
    reply = await chain.complete(asks())
    assert reply.usage.model == open_model("offline").name
    assert isinstance(chain, FallbackModel)
    await chain.aclose()


def test_without_a_name_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIRCUMSPECT_MODEL", f"openai:m@{LOCAL}")
    assert open_model().name == "openai:m@127.0.0.1:8080"


@pytest.mark.parametrize("spec", ["", " , ", []])
def test_no_model_at_all_is_refused(spec: str | list[str]) -> None:
    with pytest.raises(ConfigError):
        open_model(spec)


def test_one_address_or_key_cannot_serve_a_chain() -> None:
    with pytest.raises(ConfigError, match="several models"):
        open_model("openai:a,openai:b", settings=ProviderSettings(base_url=LOCAL))


async def test_an_address_may_be_a_setting(server: ProviderServer) -> None:
    model = open_model("openai:gpt-4o", settings=ProviderSettings(base_url=f"{server.url}/v1/"))
    assert (await model.complete(asks())).text == "ok"
    assert isinstance(model, ProviderModel)
    await model.aclose()


async def test_openai_base_url_needs_no_key(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    model = open_model("openai:local")
    assert (await model.complete(asks())).text == "ok"
    assert isinstance(model, ProviderModel)
    await model.aclose()


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"tries": 0}, {"timeout": 0}, {"connect_timeout": -1}, {"try_timeout": 0.0}):
        with pytest.raises(ConfigError):
            ProviderSettings(**wrong)  # type: ignore[arg-type]


def test_settings_do_not_print_their_key() -> None:
    assert "hunter2" not in repr(ProviderSettings(api_key="hunter2"))


def test_the_list_of_facts_is_for_ones_own_servers_only() -> None:
    assert find_traits("openai", "SmolLM2-135M", own_url=True).tools == "json_schema"
    assert find_traits("openai", "smollm2", own_url=False) == ModelTraits()
    assert find_traits("anthropic", "smollm2", own_url=True) == ModelTraits()


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_models_imports_no_provider() -> None:
    heavy = "{'pydantic_ai', 'openai', 'anthropic', 'httpx2', 'genai_prices', 'pydantic'}"
    assert run(f"import sys, circumspect.models; print(sorted({heavy} & set(sys.modules)))") == "[]"


def test_without_the_extra_a_person_is_told_what_to_install() -> None:
    code = f"""
import sys
sys.modules["pydantic_ai"] = None
from circumspect.errors import ConfigError
from circumspect.models import open_model
try:
    open_model("openai:m@{LOCAL}")
except ConfigError as error:
    print(error)
"""
    assert "pip install 'circumspect[agent]'" in run(code)
