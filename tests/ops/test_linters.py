"""What others' linters say of ops/. One that is not installed is a skip that says how to get it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trustme
import yaml
from tests.docs.pages import blocks
from tests.ops.containerfile import OPS, ROOT
from tests.patience import PATIENCE

BESIDE_PYTHON = Path(sys.executable).parent
KINDS_OF_OPERATORS = {"ServiceMonitor", "Kustomization"}
EXPOSURE = 2.0
NGINX_FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def run(program: str, *arguments: str | Path, folder: Path = ROOT) -> str:
    path = shutil.which(program, path=os.pathsep.join([str(BESIDE_PYTHON), os.environ.get("PATH", ""), "/usr/sbin"]))
    if path is None:
        pytest.skip(f"{program} is not installed: run `make services`")
    done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_hadolint_has_nothing_to_say():
    assert run("hadolint", "--failure-threshold", "info", OPS / "Containerfile") == ""


def test_kubernetes_knows_every_field():
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    checked = 0
    for path in (OPS / "kubernetes").rglob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text("utf-8")):
            if document.get("kind", "Kustomization") not in KINDS_OF_OPERATORS:
                kubernetes_validate.validate(document, "1.37", strict=True)
                checked += 1
    assert checked >= 8


@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes/monitoring"])
def test_kustomize_puts_the_manifests_together(folder: str):
    built = list(yaml.safe_load_all(run("kubectl", "kustomize", OPS / folder)))
    names = yaml.safe_load((OPS / folder / "kustomization.yaml").read_text("utf-8"))["resources"]
    assert len(built) == len(names)
    assert not any(one["kind"] == "Secret" for one in built)


def test_systemd_finds_little_to_attack(tmp_path: Path):
    said = run("systemd-analyze", "security", "--offline=true", "--no-pager", OPS / "circumspect.service")
    level = re.search(r"exposure level for \S+: ([\d.]+)", said)
    assert level, said
    assert float(level[1]) <= EXPOSURE, said


def test_systemd_knows_every_line_of_the_unit(tmp_path: Path):
    # The program is where this machine has one, since systemd looks for it.
    text = (OPS / "circumspect.service").read_text("utf-8")
    unit = tmp_path / "circumspect.service"
    unit.write_text(text.replace("/opt/circumspect/bin/circumspect", "/bin/true"))
    path = shutil.which("systemd-analyze")
    if path is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run([path, "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=PATIENCE)
    ours = [line for line in done.stderr.splitlines() if "circumspect.service" in line]
    assert ours == []


def test_promtool_takes_the_alerts_and_they_fire_when_they_should():
    run("promtool", "check", "rules", OPS / "alerts.yaml")
    assert "SUCCESS" in run("promtool", "test", "rules", OPS / "alerts.test.yaml")


def test_promtool_reads_every_query_of_the_dashboard(tmp_path: Path):
    board = json.loads((OPS / "grafana" / "circumspect.json").read_text("utf-8"))
    texts = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    texts = [text.replace("$__rate_interval", "5m").replace("$tenant", ".*") for text in texts]
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(texts)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in run("promtool", "check", "rules", file)


def snippet(word: str) -> str:
    (found,) = (one.text for one in blocks(ROOT / "docs" / "deploy.md") if one.kind == "text" and word in one.text)
    return found


def test_haproxy_takes_the_lines_of_the_page(tmp_path: Path):
    certificate = tmp_path / "agent.pem"
    trustme.CA().issue_cert("agent.example.org").private_key_and_cert_chain_pem.write_to_path(certificate)
    times = "defaults\n    mode http\n    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\n"
    config = tmp_path / "haproxy.cfg"
    config.write_text(times + snippet("backend").replace("/etc/haproxy/agent.pem", str(certificate)))
    run("haproxy", "-c", "-f", config)


def test_nginx_takes_the_lines_of_the_page(tmp_path: Path):
    config = tmp_path / "nginx.conf"
    # Folders of its own: those of Debian's package are not there where only the program is.
    folders = " ".join(f"{one}_temp_path {tmp_path}/{one};" for one in NGINX_FOLDERS)
    inner = f"access_log off; {folders} server {{ listen 127.0.0.1:8; {snippet('proxy_pass')} }}"
    config.write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ {inner} }}")
    run("nginx", "-t", "-q", "-e", "stderr", "-c", config, "-p", tmp_path)
