"""What stands in ops/ is true of this version: settings, metrics, paths, names and times, and nothing is left open."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.ops.containerfile import OPS, ROOT, read_containerfile, read_environment

from circumspect.server.config import Settings, find_secrets, read
from circumspect.server.log_export import LagCollector
from circumspect.server.metrics import BacklogCollector, Metrics
from circumspect.settings_places import CONFIG_VARIABLE
from circumspect.stores.log_exporting import ExportLag

FILES = sorted(path for path in OPS.rglob("*") if path.is_file())
SECRETS = set(find_secrets())
OF_PROMETHEUS = {"le", "job", "instance", "namespace", "pod"}


def manifest(name: str) -> Any:
    return yaml.safe_load((OPS / "kubernetes" / name).read_text("utf-8"))


def compose() -> Any:
    return yaml.safe_load((OPS / "compose.yaml").read_text("utf-8"))


def container() -> Any:
    return manifest("deployment.yaml")["spec"]["template"]["spec"]["containers"][0]


def unit() -> dict[str, list[str]]:
    """Keys may come several times, which ConfigParser does not know."""
    found: dict[str, list[str]] = {}
    for line in (OPS / "circumspect.service").read_text("utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*FILES, ROOT / "docs" / "deploy.md"], ids=lambda path: path.name)
def test_every_variable_is_a_setting(path: Path):
    for variable in re.findall(r"CIRCUMSPECT_[A-Z_]+", path.read_text("utf-8")):
        name = variable.removeprefix("CIRCUMSPECT_").lower()
        secret = name.removesuffix("_file")
        assert variable == CONFIG_VARIABLE or name in Settings.model_fields or secret in SECRETS, variable


def values_of(where: str) -> dict[str, str]:
    if where == "compose":
        return compose()["services"]["server"]["environment"]
    if where == "kubernetes":
        return manifest("settings.yaml")["data"]
    return read_environment(read_containerfile())


@pytest.mark.parametrize("where", ["compose", "kubernetes", "image"])
def test_the_server_takes_the_settings_as_they_stand(where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    contents = {
        "CIRCUMSPECT_DATABASE_FILE": "postgresql://circumspect:word@postgres:5432/circumspect",
        "CIRCUMSPECT_SECRET_KEY_FILE": "k" * 40,
        "CIRCUMSPECT_METRICS_TOKEN_FILE": "t" * 40,
    }
    for name, value in (read_environment(read_containerfile()) | values_of(where)).items():
        if not name.startswith("CIRCUMSPECT_"):
            continue
        if name in contents:
            file = tmp_path / name
            file.write_text(contents[name])
            file.chmod(0o600)
            value = str(file)
        monkeypatch.setenv(name, value)
    reading = read()
    assert reading.problems == {}
    assert reading.settings.host == "0.0.0.0"
    assert reading.settings.database.startswith("sqlite" if where == "image" else "postgresql")


def test_the_example_of_a_secret_is_refused_as_it_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    for name, value in manifest("secret.example.yaml")["stringData"].items():
        monkeypatch.setenv(f"CIRCUMSPECT_{name.upper()}", value)
    assert read().problems.keys() >= {"secret_key", "metrics_token"}


def test_secrets_reach_the_server_as_files_only_it_can_read():
    files = {name: value for name, value in manifest("settings.yaml")["data"].items() if name.endswith("_FILE")}
    spec = manifest("deployment.yaml")["spec"]["template"]["spec"]
    mounted = next(one["mountPath"] for one in container()["volumeMounts"] if one["name"] == "secrets")
    secret = next(one["secret"] for one in spec["volumes"] if one["name"] == "secrets")
    assert {Path(value) for value in files.values()} == {
        Path(mounted) / name for name in manifest("secret.example.yaml")["stringData"]
    }
    assert secret["defaultMode"] == 0o400
    assert all(value.startswith("/run/secrets/") for name, value in values_of("compose").items() if "_FILE" in name)
    assert {value.partition(":")[0] for value in unit()["LoadCredential"]} <= SECRETS


def test_the_server_answers_to_the_names_of_its_service():
    service = manifest("service.yaml")["metadata"]
    name, space = service["name"], service["namespace"]
    allowed = manifest("settings.yaml")["data"]["CIRCUMSPECT_ALLOWED_HOSTS"].split(",")
    assert set(allowed) >= {name, f"{name}.{space}", f"{name}.{space}.svc", f"{name}.{space}.svc.cluster.local"}


# --- times and sizes -------------------------------------------------------------------------------------------------


def stopping(settings: Mapping[str, str]) -> float:
    default = Settings.model_fields
    return sum(
        float(settings.get(f"CIRCUMSPECT_{name.upper()}", default[name].default))
        for name in ("stop_delay_seconds", "drain_seconds")
    )


def test_nobody_is_killed_while_turns_may_still_end():
    spec = manifest("deployment.yaml")["spec"]["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] > stopping(manifest("settings.yaml")["data"])
    assert float(compose()["services"]["server"]["stop_grace_period"].removesuffix("s")) > stopping(
        values_of("compose")
    )
    assert float(unit()["TimeoutStopSec"][0]) > stopping({})


def test_strangers_documents_fit_into_the_memory_of_a_pod():
    limit = container()["resources"]["limits"]["memory"]
    assert limit.endswith("Gi")
    told = manifest("settings.yaml")["data"]
    megabytes, at_once = (
        int(told.get(f"CIRCUMSPECT_{name.upper()}", Settings.model_fields[name].default))
        for name in ("document_megabytes", "lane_at_once")
    )
    # Documents, pages, policies and transcripts are read in processes.
    documents = megabytes * at_once * 4
    assert float(limit.removesuffix("Gi")) * 1024 >= documents + 512


def test_probes_ask_at_paths_that_exist():
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
    asked = {kind: container()[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")}
    assert asked == {"startup": "/healthz", "readiness": "/readyz", "liveness": "/healthz"}
    assert set(asked.values()) <= paths.keys()
    assert manifest("monitoring/service-monitor.yaml")["spec"]["endpoints"][0]["path"] in paths
    health = next(one for one in read_containerfile() if one.name == "HEALTHCHECK")
    assert health.text.endswith('CMD ["circumspect", "health"]')
    assert not re.search(r"\b(curl|wget)\b", health.text)


# --- nothing is left open --------------------------------------------------------------------------------------------


def test_the_image_runs_as_nobody_in_particular_and_holds_no_secret():
    image = read_containerfile()
    last = max(number for number, one in enumerate(image) if one.name == "FROM")
    final = image[last:]
    (user,) = (one.text for one in final if one.name == "USER")
    uid, gid = map(int, user.split(":"))
    pod = manifest("deployment.yaml")["spec"]["template"]["spec"]["securityContext"]
    assert (pod["runAsUser"], pod["runAsGroup"], pod["fsGroup"]) == (uid, gid, gid)
    assert uid >= 10000
    assert [one.text for one in final if one.name == "STOPSIGNAL"] == ["SIGTERM"]
    assert [one.read_list() for one in final if one.name == "VOLUME"] == [["/data"]]
    for one in image:
        if one.name in ("ENV", "ARG"):
            assert not re.search(r"secret|token|password|key", one.text, re.I), one.text
        assert one.name != "ADD"
    installs = [words for one in image for words in one.text.split("pip install")[1:]]
    assert installs
    assert all(words.startswith(" --require-hashes ") for words in installs)


def test_everything_that_is_pinned_has_a_hash_and_names_no_place():
    pinned = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    text = (ROOT / "hashes.txt").read_text("utf-8")
    hashed = dict(re.findall(r"^(\S.*?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.M))
    assert list(hashed) == pinned, "run `make hashes`"
    assert "".join(f"{line} \\\n{hashes}" for line, hashes in hashed.items()) == text
    assert "://" not in text


def test_the_builder_is_sent_what_the_image_copies_and_nothing_else():
    lines = (ROOT / ".containerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    copied = {
        word for one in read_containerfile() if one.name == "COPY" and not one.flags for word in one.text.split()[:-1]
    }
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == copied
    # Docker reads this name, Podman either.
    assert (ROOT / ".dockerignore").read_text("utf-8").splitlines() == lines


def test_every_container_is_confined():
    for name, service in compose()["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
    assert compose()["networks"]["back"]["internal"] is True
    context = container()["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    spec = manifest("deployment.yaml")["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True


def test_the_network_lets_nothing_private_out():
    policy = manifest("network.yaml")["spec"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    (blocks,) = ([one["ipBlock"] for one in rule["to"]] for rule in policy["egress"] if "ipBlock" in rule["to"][0])
    assert set(blocks[0]["except"]) >= {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"}


def test_the_unit_keeps_files_private_and_ends_the_first_process_first():
    assert unit()["UMask"] == ["0077"]
    assert unit()["DynamicUser"] == ["yes"]
    assert unit()["KillMode"] == ["mixed"]
    assert unit()["CapabilityBoundingSet"] == [""]
    # Readers of documents set limits for themselves; without these calls they would run without any.
    assert not any("@resources" in value for value in unit()["SystemCallFilter"])


# --- metrics ---------------------------------------------------------------------------------------------------------


def exported() -> dict[str, set[str]]:
    """Every series that a server exports, with its labels."""
    metrics = Metrics()
    found: dict[str, set[str]] = {}
    for metric in vars(metrics).values():
        if not hasattr(metric, "_labelnames"):
            continue
        labels, kind, name = set(metric._labelnames), metric._type, metric._name
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
        found |= {f"{name}{ending}": labels for ending in endings}
    lag = LagCollector({"syslog": ExportLag(0, 0.0, 0)})
    for family in (*BacklogCollector(0, 0, 0, {"open": 0}, 0).collect(), *lag.collect()):
        found[family.name] = {label for sample in family.samples for label in sample.labels}
    return found


def queries() -> Iterator[tuple[str, str]]:
    for group in yaml.safe_load((OPS / "alerts.yaml").read_text("utf-8"))["groups"]:
        yield from ((rule["alert"], rule["expr"]) for rule in group["rules"])
    board = json.loads((OPS / "grafana" / "circumspect.json").read_text("utf-8"))
    for panel in board["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", ()))
    yield from (
        (one["name"], one["query"]["query"]) for one in board["templating"]["list"] if isinstance(one["query"], dict)
    )
    for rule in manifest("monitoring/adapter-rules.yaml")["rules"]["custom"]:
        yield from ((key, rule[key]) for key in ("seriesQuery", "metricsQuery"))
    for test in yaml.safe_load((OPS / "alerts.test.yaml").read_text("utf-8"))["tests"]:
        # Whether a server can be scraped is for Prometheus to say.
        yield from ((test["name"], one["series"]) for one in test["input_series"] if one["series"][:3] != "up{")


@pytest.mark.parametrize(("where", "query"), list(queries()))
def test_every_query_asks_for_what_the_server_exports(where: str, query: str):
    known = exported()
    series = re.findall(r"circumspect_\w+", query)
    assert series, query
    for name in series:
        assert name in known, f"{where}: the server exports no {name}"
    labels = set().union(*(known[name] for name in series)) | OF_PROMETHEUS
    asked = {word.strip() for group in re.findall(r"\bby \(([\w, ]+)\)", query) for word in group.split(",")} | set(
        re.findall(r"[{,]\s*(\w+)\s*(?:=~|!=|!~|=)", query)
    )
    assert asked <= labels, f"{where}: {asked - labels}"


def test_every_metric_of_the_server_is_on_the_dashboard_or_is_about_web_pages():
    shown = {name for _, query in queries() for name in re.findall(r"circumspect_\w+", query)}
    of_pages = {
        "source_confidence",
        "source_switches",
        "searches",
        "reasoning_seconds",
        "reasoning_fallbacks",
        "page_actions",
    }
    for name in {re.sub(r"_(total|bucket|sum|count)$", "", one) for one in exported()}:
        assert name.removeprefix("circumspect_") in of_pages or any(one.startswith(name) for one in shown), name


def test_what_the_database_knows_is_not_added_up_over_servers():
    lag = LagCollector({"syslog": ExportLag(0, 0.0, 0)})
    gauges = {family.name for family in (*BacklogCollector(0, 0, 0, {}, 0).collect(), *lag.collect())}
    board = json.loads((OPS / "grafana" / "circumspect.json").read_text("utf-8"))
    panels = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    groups = yaml.safe_load((OPS / "alerts.yaml").read_text("utf-8"))["groups"]
    alerts = [rule["expr"] for group in groups for rule in group["rules"]]
    for query in (*panels, *alerts):
        if gauges & set(re.findall(r"circumspect_\w+", query)):
            assert query.startswith("max by (job" if query in alerts else "max"), query


def test_every_alert_is_tried():
    alerts = {
        rule["alert"]
        for group in yaml.safe_load((OPS / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    }
    tried = set(re.findall(r"Circumspect[A-Z]\w+", (OPS / "alerts.test.yaml").read_text("utf-8")))
    assert tried == alerts


def test_the_autoscaler_goes_by_a_metric_that_the_adapter_makes():
    made = {rule["name"]["as"] for rule in manifest("monitoring/adapter-rules.yaml")["rules"]["custom"]}
    asked = {
        one["pods"]["metric"]["name"]
        for one in manifest("monitoring/autoscaler.yaml")["spec"]["metrics"]
        if one["type"] == "Pods"
    }
    assert asked
    assert asked <= made
    token = manifest("monitoring/service-monitor.yaml")["spec"]["endpoints"][0]["authorization"]["credentials"]
    assert token == {"name": manifest("secret.example.yaml")["metadata"]["name"], "key": "metrics_token"}
