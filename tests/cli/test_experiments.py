"""`circumspect experiments` and `circumspect prompts`."""

from __future__ import annotations

import asyncio
import json

import pytest

from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.prompts import load_default_prompt
from circumspect.server.config import Settings
from circumspect.stores import SqlStore

DATABASE = ".circumspect/circumspect.db"


@pytest.fixture(autouse=True)
def shop(folder):
    async def made() -> None:
        store = await SqlStore.open(DATABASE)
        await apply_samples(store, Settings(database=DATABASE))
        await store.close()

    asyncio.run(made())


def test_an_experiment_from_its_making_to_its_end(run):
    assert "no experiments" in run("experiments", "list").out
    arm = 'careful={"thresholds": {"critique_below": 0.9}}'
    made = run("experiments", "create", "careful", "--tenant", "shop", "--arm", arm, "--plan", '{"metric": "wrong"}')
    assert made.code == 0, made.err
    assert f"experiments start {made.out.split()[0]} --share" in made.out  # names need not be unique
    assert "10 %" in run("experiments", "start", "careful").out
    run("experiments", "start", "careful").refused("running")
    assert "50 %" in run("experiments", "share", "careful", "0.5").out
    shown = json.loads(run("experiments", "show", "careful", "--json").out)
    assert shown["results"]["comparisons"]["careful"][0]["metric"] == "wrong"
    assert shown["results"]["next"]["careful"]["move"] == "stays"
    assert "control" in run("experiments", "show", shown["id"]).out
    assert "stopped" in run("experiments", "stop", "careful", "--why", "enough").out
    assert "finished" in run("experiments", "finish", "careful", "--winner", "control").out
    listed = json.loads(run("experiments", "list", "--tenant", "shop", "--json").out)
    assert [(one["name"], one["state"], one["winner"]) for one in listed] == [("careful", "finished", "control")]


def test_a_winner_that_nobody_gets_is_told_and_one_that_everybody_gets_has_all_of_the_share(run):
    assert "rolled out later" in " ".join(run("experiments", "finish", "--help").out.split())
    shares = {}
    for name, more in (("plain", ()), ("rolled", ("--roll-out",))):
        run(
            "experiments",
            "create",
            name,
            "--tenant",
            "shop",
            "--arm",
            'careful={"thresholds": {"critique_below": 0.9}}',
        )
        run("experiments", "start", name, "--share", "0.5")
        said = run("experiments", "finish", name, "--winner", "careful", *more).out
        assert ("Nobody gets 'careful'" in said) == (not more)
        (line,) = (one for one in run("experiments", "list").out.splitlines() if f"  {name} " in one)
        shares[name] = line.rpartition("  ")[2]
    assert shares == {"plain": "-", "rolled": "100 %"}
    arm = ("--unit", "case", "--shadow", "--arm", 'plain={"controller": "heuristic"}')
    run("experiments", "create", "beside", "--tenant", "shop", *arm)
    assert "on 100 % of cases" in run("experiments", "start", "beside", "--share", "1").out


def test_what_was_decided_is_rolled_out_later_and_a_refusal_says_why(run):
    run("experiments", "create", "late", "--tenant", "shop", "--arm", 'careful={"profile": "standard"}')
    finish = ("experiments", "finish", "late", "--winner")
    run(*finish, "control").refused("draft", "started")
    run("experiments", "start", "late")
    run(*finish, "control")
    assert "finish it again with --roll-out" in run(*finish, "careful").out
    run("experiments", "start", "late").refused("finished")
    assert "rolled out: every new conversation gets careful" in run(*finish, "careful", "--roll-out").out
    run(*finish, "control").refused("rolled out", "Stop it first")


def test_what_is_live_with_no_share_is_in_the_way_and_said_so(run):
    for name in ("first", "second"):
        run("experiments", "create", name, "--tenant", "shop", "--arm", 'new={"profile": "standard"}')
    run("experiments", "start", "first", "--share", "0")
    run("experiments", "start", "second").refused("is live already", "0 %")


def test_what_cannot_be_is_refused_in_words(run, folder):
    create = ("experiments", "create", "x", "--tenant", "shop", "--arm")
    run(*create, 'new={"modle": "x"}').refused("modle", "model")
    run(*create, "new={").refused("JSON")
    run(*create, 'new={"policy": 9}').refused("9")
    run(*create, "new", "--plan", '{"metric": "joy"}').refused("metric")
    run("experiments", "create", "x", "--tenant", "nobody", "--arm", "new").refused("nobody")
    run("experiments", "stop", "nothing").refused("nothing", "list")
    run("prompts", "list", "nothing").refused("no prompt 'nothing'")
    run("prompts", "list", "--tenant", "nobody").refused("no tenant 'nobody'")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    run("prompts", "add", "critique", "latin.md", "--tenant", "shop").refused("latin.md is not UTF-8 text (byte 3)")


def test_a_shadow_says_how_often_it_did_the_same(run):
    run("experiments", "create", "beside", "--tenant", "shop", "--shadow", "--arm", 'quick={"profile": "standard"}')
    assert "is running" in run("experiments", "start", "beside", "--share", "1").out
    assert "0 turns, 0 the same" in run("experiments", "show", "beside").out


def test_prompts_have_versions(run, folder):
    ours = load_default_prompt("critique")
    assert ours.id in run("prompts", "list", "critique").out
    assert run("prompts", "show", "critique").out.strip() == ours.text
    (folder / "mine.md").write_text(f"{ours.text}\nBe strict.\n", "utf-8")
    added = json.loads(
        run("prompts", "add", "critique", "mine.md", "--tenant", "shop", "--note", "strict", "--json").out
    )
    assert "+Be strict." in run("prompts", "diff", added["id"], "--tenant", "shop").out
    assert "strict" in run("prompts", "list", "--tenant", "shop").out
    assert "0 turns used it" in run("prompts", "show", added["id"], "--tenant", "shop", "--uses").out
    overlay = json.dumps({"prompts": {"critique": added["id"]}})
    made = run("experiments", "create", "strict", "--tenant", "shop", "--arm", f"new={overlay}")
    assert made.code == 0, made.err
    run("prompts", "show", "nonsense").refused("nonsense")
    run("prompts", "show", added["id"]).refused("--tenant")
    (folder / "wrong.md").write_text("Talk to $nobody.", "utf-8")
    run("prompts", "add", "phrase", "wrong.md", "--tenant", "shop").refused("nobody")
