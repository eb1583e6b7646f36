"""What stands in compose.yaml, in the manifests and in the unit is started as it stands, and a turn is taken through it.

There is no engine of containers and no systemd here. What they would do is done in namespaces of their own: the file's
commands, variables, ports, secrets, user, folders and read-only root, its names on loopback, PostgreSQL and Redis of
this machine. Filters of system calls, limits of memory and networks between containers are not tried.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.ops.containerfile import ROOT, read_containerfile, read_environment
from tests.ops.test_image import is_permitted
from tests.ops.test_ops_files import compose, container, manifest, unit
from tests.patience import ENDURANCE, PATIENCE
from tests.stores.postgres_server import NoPostgres, programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(ENDURANCE),
    pytest.mark.skipif(
        not os.environ.get("TRY_IMAGE"), reason="two minutes, with servers of its own: run `make try-image`"
    ),
]

PASSWORD = "of-the-database"
SECRETS = {"secret_key": "k" * 43, "metrics_token": "t" * 43, "postgres_password": PASSWORD}


@dataclass(frozen=True)
class Started:
    """How a server is started, and what it may."""

    command: list[str]
    environment: dict[str, str]
    user: int
    folder: str
    secrets: dict[str, str]
    """Of a path to what is read there."""
    writable: list[str]
    probes: list[str]
    """Paths that have to answer 200 once it is up."""


def read_image() -> tuple[list[str], dict[str, str], int, str]:
    last = {one.name: one for one in read_containerfile()}
    environment = {name: value for name, value in read_environment(read_containerfile()).items() if name != "PATH"}
    command = [*last["ENTRYPOINT"].read_list(), *last["CMD"].read_list()]
    return command, environment, int(last["USER"].text.partition(":")[0]), last["WORKDIR"].text


def from_compose() -> Started:
    command, environment, user, folder = read_image()
    service = compose()["services"]["server"]
    secrets = {f"/run/secrets/{name}": name for name in service["secrets"]}
    writable = [one.partition(":")[2] for one in service["volumes"]] + [
        one.partition(":")[0] for one in service["tmpfs"]
    ]
    return Started(command, environment | service["environment"], user, folder, secrets, writable, ["/healthz"])


def from_kubernetes() -> Started:
    command, environment, _, folder = read_image()
    pod = manifest("deployment.yaml")["spec"]["template"]["spec"]
    mounts = {one["name"]: one["mountPath"] for one in container()["volumeMounts"]}
    secrets = {f"{mounts['secrets']}/{name}": name for name in manifest("secret.example.yaml")["stringData"]}
    writable = [place for name, place in mounts.items() if name != "secrets"]
    probes = [container()[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")]
    settings = {**manifest("settings.yaml")["data"], "CIRCUMSPECT_STOP_DELAY_SECONDS": "0"}
    user = pod["securityContext"]["runAsUser"]
    return Started(command, environment | settings, user, folder, secrets, writable, probes)


def from_unit() -> Started:
    said = unit()
    place = "/run/credentials/circumspect.service"
    secrets = {f"{place}/{name}": name for name in (one.partition(":")[0] for one in said["LoadCredential"])}
    state = f"/var/lib/{said['StateDirectory'][0]}"
    assert said["WorkingDirectory"] == [f"%S/{said['StateDirectory'][0]}"]
    environment = dict(one.split("=", 1) for one in said["Environment"])
    command = shlex.split(said["ExecStart"][0])
    return Started(
        command, {**environment, "CREDENTIALS_DIRECTORY": place}, 61_184, state, secrets, [state, "/tmp"], ["/readyz"]
    )


SCRIPT = """
set -eu
ip link set lo up
umask 022
mkdir {work}/home
# Where Python is, when that is nobody else's to enter.
mount --bind {base} {work}/home
[ -x /root ] && mount -t tmpfs -o mode=755 none /root && mkdir -p {base} {source} && mount --bind {work}/home {base} || true
mount -t tmpfs -o mode=755 none /run
mount -t tmpfs -o mode=755 none /etc/circumspect 2>/dev/null || {{ mkdir -p {work}/etc && cp -a /etc/. {work}/etc && mount --bind {work}/etc /etc && mkdir -p /etc/circumspect; }}
echo '127.0.0.1 localhost postgres redis' > {work}/hosts && mount --bind {work}/hosts /etc/hosts
echo 'public_url = "https://agent.example.org"' > /etc/circumspect/circumspect.toml
install --directory --owner postgres --mode 700 {work}/pg /run/postgresql
printf %s {password} > {work}/password && chmod 644 {work}/password
as_postgres() {{ runuser -u postgres -- "$@"; }}
cd {work}/pg
as_postgres {pg}/initdb -D {work}/pg/data -U circumspect --auth=scram-sha-256 --pwfile={work}/password -E UTF8 --no-sync >/dev/null
as_postgres {pg}/pg_ctl -D {work}/pg/data -w -l {work}/pg/log -o '-c listen_addresses=127.0.0.1 -c unix_socket_directories=/run/postgresql -c fsync=off' start >/dev/null
{bin}/python -c 'import sys, psycopg; psycopg.connect(sys.argv[1], autocommit=True).execute("create database circumspect")' \
  postgresql://circumspect:{password}@postgres/postgres
{redis} >/dev/null &
{secrets}
{writable}
mount --rbind / {work}/root
mount -o remount,bind,ro {work}/root
inside() {{ chroot {work}/root /bin/sh -c 'cd {folder} && exec "$@"' inside setpriv --reuid={user} --regid={user} --clear-groups --no-new-privs \\
  --bounding-set=-all --inh-caps=-all env --ignore-environment PATH={bin}:/usr/bin:/bin {environment} "$@"; }}
(umask 077; inside {command} >{work}/log 2>&1) &
for _ in $(seq {patience}); do inside circumspect health --ready >/dev/null 2>&1 && break; sleep 1; done
chroot {work}/root touch /usr/own 2>/dev/null && echo 'the tree can be written' || echo 'the tree cannot be written'
inside circumspect apply {shop} >/dev/null
key=$(inside circumspect keys create --tenant shop --scope chat | grep -o 'csk_[A-Za-z0-9_-]*' | head -1)
inside {bin}/python -c "$(cat {work}/turn.py)" "$key" {probes}
for pid in $(pgrep -u {user}); do grep -h -E '^(Uid|CapBnd|NoNewPrivs)' /proc/$pid/status; break; done
kill -TERM $(pgrep -o -u {user})
wait %2 && echo 'ended well' || echo "ended with $?"
"""

TURN = """
import sys, httpx
key, *paths = sys.argv[1:]
client = httpx.Client(base_url="http://127.0.0.1:8000", headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=60)
for path in paths:
    print(path, client.get(path).status_code)
print("metrics", client.get("/metrics", headers={"Authorization": "Bearer " + "t" * 43}).status_code)
client.post("/v1/conversations", json={"id": "c1"})
print(client.post("/v1/conversations/c1/messages", json={"content": "Where is order 12345?"}).json()["reply"])
print("foreign host", client.get("/v1/conversations", headers={"Host": "evil.example"}).status_code)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not pytest's: other users could not enter it."""
    made = Path(tempfile.mkdtemp(prefix="circumspect-ops-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("read", [from_compose, from_kubernetes, from_unit], ids=["compose", "kubernetes", "systemd"])
def test_it_starts_as_the_file_says_and_takes_a_turn(read, folder: Path):
    if not is_permitted() or not shutil.which("redis-server") or not shutil.which("setpriv"):
        pytest.skip("NOT TRIED: needs Linux, root, namespaces of its own, setpriv and Redis")
    try:
        postgres = programs()
    except NoPostgres as why:
        pytest.skip(f"NOT TRIED: {why}")
    started = read()
    values = {**SECRETS, "database": f"postgresql://circumspect:{PASSWORD}@postgres:5432/circumspect"}
    own = Path(sys.prefix) / "bin"
    command = [str(own / Path(started.command[0]).name), *started.command[1:]]
    (folder / "turn.py").write_text(TURN)
    (folder / "root").mkdir()
    secrets = [
        f"install -D --owner {started.user} --mode 0400 /dev/stdin {path} <<< {shlex.quote(values[name])}"
        for path, name in started.secrets.items()
    ]
    script = SCRIPT.format(
        work=folder, base=sys.base_prefix, source=ROOT, password=PASSWORD, pg=postgres, user=started.user, bin=own,
        redis=shlex.join(compose()["services"]["redis"]["command"]), secrets="\n".join(secrets), folder=started.folder,
        writable="\n".join(f"mkdir -p {one} && mount -t tmpfs -o mode=700,uid={started.user} none {one}" for one in started.writable if one != "/tmp"),
        environment=shlex.join(f"{k}={v}" for k, v in started.environment.items()),
        command=shlex.join(command), patience=int(PATIENCE * 2), probes=shlex.join(started.probes),
        shop=ROOT / "src" / "circumspect" / "demo" / "samples" / "data" / "shop.yaml",
    )  # fmt: skip
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "--net", "--pid", "--mount-proc", "--fork", "--kill-child", "bash", "-c", script],
        capture_output=True, text=True, timeout=ENDURANCE, env={**os.environ, "PATH": f"/usr/sbin:/sbin:{os.environ['PATH']}"},
    )  # fmt: skip
    log = folder / "log"
    told = done.stdout + done.stderr[-2_000:] + (log.read_text()[-2_000:] if log.exists() else "")
    said = done.stdout.splitlines()
    assert done.returncode == 0, told
    assert [line for line in said if line.startswith("/")] == [f"{path} 200" for path in started.probes], told
    assert "metrics 200" in said, told
    assert "foreign host 421" in said, told
    assert any("12345" in line for line in said), told
    assert "the tree cannot be written" in said, told
    assert f"Uid:\t{started.user}\t{started.user}\t{started.user}\t{started.user}" in said, told
    assert {"NoNewPrivs:\t1", "CapBnd:\t0000000000000000"} <= set(said), told
    assert "ended well" in said, told
