"""The steps of the Containerfile do what they say, without a registry of images.

They run word for word in a folder that is a root of its own, made of this machine's programs, in a namespace of mounts that
ends with the test. Then that root is made read-only, and what the image would start is started as its user. Both stages
share the one root, and Python is this machine's: what the base image would bring is not tried.
"""

from __future__ import annotations

import ast
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.load_balancer import free_port
from tests.ops.containerfile import ROOT, Instruction, read_containerfile, read_environment, read_instructions
from tests.patience import ENDURANCE, PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(ENDURANCE + PATIENCE)]

OURS = ("build", "data", "etc", "tmp", "opt", "proc", "dev")
"""Folders that the root has for itself; all others are this machine's, read-only."""
SHELL = ["/bin/sh", "-c"]
"""What a stage begins with."""


def prepare_root(root: Path) -> list[str]:
    """Folders in the root, and the commands that put this machine's programs into it."""
    for name in OURS:
        (root / name).mkdir()
    shutil.copytree("/etc", root / "etc", symlinks=True, dirs_exist_ok=True, ignore=ignore_special)
    (root / "etc" / "pip.conf").write_text(describe_index())
    lines = [f"mount --bind {root} {root}"]
    for name in ("bin", "sbin", "lib", "lib64", "usr"):
        place = Path("/", name)
        if place.is_symlink():
            (root / name).symlink_to(place.readlink())
        elif place.is_dir():
            (root / name).mkdir()
            lines.append(f"mount --rbind {place} {root / name}")
    places = [one for one in Path("/opt").iterdir() if one.is_dir() and one.name != "circumspect"]
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        places.append(Path(sys.base_prefix))
    for place in places:
        inside = root / place.relative_to("/")
        inside.mkdir(parents=True)
        lines.append(f"mount --rbind {place} {inside}")
    return [*lines, f"mount --rbind /dev {root / 'dev'}", f"mount -t proc proc {root / 'proc'}"]


def ignore_special(folder: str, names: list[str]) -> set[str]:
    """Sockets and pipes cannot be copied."""
    places = {name: Path(folder, name) for name in names}
    return {name for name, one in places.items() if not (one.is_symlink() or one.is_file() or one.is_dir())}


def describe_index() -> str:
    """Where this machine gets packages from, as the secret that the build may be given."""
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, timeout=PATIENCE
    ).stdout
    lines = ["[global]"]
    for line in said.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.partition(".")
        if section == "global":
            lines.append(f"{name} = " + str(ast.literal_eval(value)).replace("\n", " "))
    return "\n".join(lines) + "\n"


def copy_sources(one: Instruction, folder: Path) -> None:
    *sources, target = one.text.split()
    for source in sources:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, folder / target, ignore=shutil.ignore_patterns("__pycache__", "*.db*"))
        else:
            shutil.copy(ROOT / source, folder / target)


def list_steps(image: list[Instruction], root: Path) -> list[str]:
    """One command for each RUN, in the folder and by the shell that it would run in. What is copied from here is copied
    at once."""
    folder, shell, steps = "/", SHELL, []
    for one in image:
        if one.name == "FROM":
            folder, shell = "/", SHELL
        elif one.name == "SHELL":
            shell = one.read_list()
        elif one.name == "WORKDIR":
            folder = one.text
        elif one.name == "COPY" and not one.flags:
            copy_sources(one, root / folder.lstrip("/"))
        elif one.name == "RUN":
            command = f"cd {folder} && {one.text}"
            steps.append(shlex.join(["chroot", str(root), *shell, command]))
    return steps


def test_each_step_runs_in_the_shell_and_folder_of_its_stage(tmp_path: Path):
    said = """
    FROM a AS build
    WORKDIR /build
    RUN one
    SHELL ["/bin/bash", "-o", "pipefail", "-c"]
    RUN two | three
    FROM a
    RUN four
    """
    in_root = f"chroot {tmp_path}"
    assert list_steps(read_instructions(said), tmp_path) == [
        f"{in_root} /bin/sh -c 'cd /build && one'",
        f"{in_root} /bin/bash -o pipefail -c 'cd /build && two | three'",
        f"{in_root} /bin/sh -c 'cd / && four'",
    ]


def is_permitted() -> bool:
    return (
        sys.platform == "linux"
        and os.geteuid() == 0
        and subprocess.run(
            ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True
        ).returncode
        == 0
    )


SCRIPT = """
set -eu
export PATH={path} HOME=/tmp
{mounts}
{steps}
echo "/data is $(stat --format '%u:%g %a' {root}/data)"
mount -t tmpfs -o uid={uid},gid={gid},mode=700 none {root}/data
mount -t tmpfs -o mode=1777 none {root}/tmp
mount -o remount,bind,ro {root}
inside=(chroot --userspec={user} {root} env --ignore-environment PATH={inner} {environment})
"${{inside[@]}}" sh -c 'touch /opt/circumspect/own 2>/dev/null && echo "the tree can be written" || echo "the tree cannot be written"'
chroot {root} touch /opt/circumspect/own 2>/dev/null && echo "root can write" || echo "root cannot write either"
"${{inside[@]}}" sh -c 'cd {folder} && exec {start}' &
server=$!
for _ in $(seq {patience}); do
    "${{inside[@]}}" {health} 2>/dev/null && break
    kill -0 $server || exit 1
    sleep 1
done
"${{inside[@]}}" {health} && echo healthy
echo "as $(stat --format %u {root}/proc/$server), files $(cd {root}/data && find . -name '*.db' -printf '%p %m')"
kill -s {signal} $server
wait $server && echo "ended well"
"""


def test_the_installed_image_serves_from_a_read_only_tree_as_its_user(tmp_path: Path):
    if not os.environ.get("TRY_IMAGE"):
        pytest.skip("it installs everything anew, which takes minutes: run `make try-image`")
    if not is_permitted():
        pytest.skip("mounts cannot be made here: the Containerfile's steps are NOT TRIED (needs Linux and root)")
    image = read_containerfile()
    final = image[max(number for number, one in enumerate(image) if one.name == "FROM") :]
    told = {one.name: one for one in final}
    root = tmp_path / "root"
    root.mkdir(mode=0o755)
    tmp_path.chmod(0o755)
    mounts = prepare_root(root)
    environment = read_environment(final) | {"CIRCUMSPECT_PORT": str(free_port())}
    own = environment.pop("PATH").partition(":")[0]
    path = f"{Path(sys.base_prefix) / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    uid, gid = told["USER"].text.split(":")
    health = Instruction("CMD", (), told["HEALTHCHECK"].text.partition("CMD ")[2]).read_list()
    script = SCRIPT.format(
        root=root, path=path, inner=f"{own}:{path}", uid=uid, gid=gid, user=told["USER"].text, folder=told["WORKDIR"].text,
        mounts="\n".join(mounts), steps="\n".join(list_steps(image, root)), patience=int(PATIENCE),
        environment=shlex.join(f"{name}={value}" for name, value in environment.items()),
        start=shlex.join([*told["ENTRYPOINT"].read_list(), *told["CMD"].read_list()]),
        health=shlex.join(health), signal=told["STOPSIGNAL"].text,
    )  # fmt: skip
    done = subprocess.run(
        # Whatever it started ends with it.
        ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "bash", "-c", script],
        capture_output=True, text=True, timeout=ENDURANCE,
    )  # fmt: skip
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"/data is {uid}:{gid} 700" in said
    assert "the tree cannot be written" in said
    assert "root cannot write either" in said
    assert "healthy" in said
    assert f"as {uid}, files ./.circumspect/circumspect.db 600" in said
    assert "ended well" in said
