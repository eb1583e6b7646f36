"""`circumspect`, its help and its version."""

from __future__ import annotations

import click
import pytest
from scripts.generate_docs import options, walk

from circumspect import __version__
from circumspect.cli import VERBS

COMMANDS = [names for names, _ in walk()]


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_and_every_option_it_has(run, names):
    command = dict(walk())[names]
    for flag in ("--help", "-h"):
        ran = run(*names, flag)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("Usage: circumspect")
        for option in options(command):
            assert option.opts[0] in ran.out
            assert option.help or option.opts == ["--database"] or option.opts == ["--policy"], option.opts


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_of_one_short_line_has_an_example(names):
    command = dict(walk())[names]
    told = command.help or ""
    assert len(told) >= 40 or f"circumspect {' '.join(names)}" in told or isinstance(command, click.Group)


def test_help_lists_every_verb(run):
    shown = run("--help").out
    for verb in VERBS:
        assert f"\n  {verb} " in shown


def test_the_version_is_told(run):
    assert run("--version").out == f"circumspect, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), ("No such command 'nonsense'",)),
        (("polcy",), ("Did you mean", "'policy'")),
        (("--nonsense",), ("No such option", "--nonsense")),
        (("--log-level", "loud", "chat"), ("'loud' is not one of", "debug")),
        (("db", "nonsense"), ("No such command 'nonsense'",)),
        (("policy", "nonsense"), ("No such command 'nonsense'",)),
        (("policy", "check"), ("Missing argument",)),
    ],
)
def test_a_command_that_does_not_exist_is_told_in_two_lines(run, arguments, words):
    run(*arguments).refused(*words)


@pytest.mark.parametrize("arguments", [(), ("db",), ("policy",)])
def test_a_command_that_is_not_finished_shows_what_can_follow(run, arguments):
    ran = run(*arguments)
    assert ran.code == 2
    assert "Commands:" in ran.err
