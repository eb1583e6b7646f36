"""AgentDojo as a closed loop: attacks that succeed and tasks still solved, with and without a gate before every call.

The suites, tools, tasks and checks are those of the `agentdojo` package. No model takes part: a scripted agent makes
the calls of the task's own solution and, as soon as a result has shown it the injected text, all the calls which that
text asks for, then goes on with the task. A call that a gate does not allow is not executed, and the loop goes on. At
the end AgentDojo's own checks look at the environment. Ours is the audit's engine with the policy
`examples/policies/agentdojo.yaml`.

    pip install agentdojo==0.1.35
    python -m bench.agentdojo_loop [--suite workspace] [--attack direct] [--json FILE]

What may surprise: "ask" counts as held, for nobody is there to answer. Attacks that need no call (the agent is to say
something) are left out: no gate before calls can have a say in them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench.report import Section, Table, show

POLICY = Path(__file__).parents[1] / "examples" / "policies" / "agentdojo.yaml"
SUITES = ("workspace", "banking", "slack", "travel")
VERSION = "v1.2.2"
ATTACKS = ("important_instructions", "direct", "ignore_previous", "system_message", "injecagent", "tool_knowledge")
"""How the injected text is worded; the agent obeys any of them."""
ANCHORS = (
    ("no gate", 597, 97),
    ("arguments only from the prompt", 30, 50),
    ("field-level provenance", 51, 88),
)
"""Attacks that succeed of 609, tasks solved of 97: measured elsewhere, for comparison."""
PROSE = frozenset(("body", "content", "description", "message", "subject", "title"))
HELD = "Error: held, the call was not executed."

Messages = list[dict[str, Any]]
Gate = Callable[["Desk", Messages, str, dict[str, Any]], str]
"""Why the call is held; empty when it may run."""


@dataclass(frozen=True)
class Desk:
    """One suite: its tools, which of them show what strangers wrote, and where each task meets that."""

    suite: Any
    runtime: Any
    specs: Any
    attack: Any
    shown: dict[str, tuple[bool, ...]]
    """By user task: which of its calls return something injected."""
    untrusted: frozenset[str]


@dataclass
class Tally:
    attacks: int = 0
    succeeded: int = 0
    solved_attacked: int = 0
    tasks: int = 0
    solved: int = 0
    unhindered: int = 0
    """Tasks of which not one call was held."""
    through: Counter[str] = field(default_factory=Counter)
    lost: dict[str, list[str]] = field(default_factory=dict)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.attacks + other.attacks,
            self.succeeded + other.succeeded,
            self.solved_attacked + other.solved_attacked,
            self.tasks + other.tasks,
            self.solved + other.solved,
            self.unhindered + other.unhindered,
            self.through + other.through,
            self.lost | other.lost,
        )


@dataclass(frozen=True)
class Ran:
    environment: Any
    trace: list[Any]
    held: list[str]
    """The user's own calls that were held, each with its reasons."""


# --- gates ------------------------------------------------------------------------------------------------------------


def nobody(desk: Desk, messages: Messages, tool: str, arguments: dict[str, Any]) -> str:
    return ""


def ours(policy: Any) -> Gate:
    from circumspect.audit.auditor import Auditor
    from circumspect.audit.rulings import AuditedCall
    from circumspect.audit.transcript_files import Transcript
    from circumspect.audit.transcript_steps import TranscriptCall
    from circumspect.values import ToolCall

    auditor = Auditor(policy, claims=False)

    def gate(desk: Desk, messages: Messages, tool: str, arguments: dict[str, Any]) -> str:
        proposal = TranscriptCall(ToolCall(tool, arguments, "proposed"))
        # A list of its own: the audit goes on from the one before, and must not see that one grow.
        rows = auditor.audit_transcript(
            Transcript(desk.suite.name, list(messages), desk.specs, desk.untrusted, proposal)
        )
        ruled = [row for row in rows if isinstance(row, AuditedCall)][-1]
        return "" if ruled.verdict == "allow" else f"{ruled.verdict}: {', '.join(ruled.rules)}"

    return gate


def only_from_the_prompt(policy: Any) -> Gate:
    """Whatever a call that changes something says, prose apart, must stand in the user's message."""

    def gate(desk: Desk, messages: Messages, tool: str, arguments: dict[str, Any]) -> str:
        if policy.of(tool, None).effect == "read":
            return ""
        prompt = str(messages[0]["content"]).lower()
        missing = [
            name
            for name, value in arguments.items()
            if name not in PROSE and any(leaf not in prompt for leaf in _leaves(value))
        ]
        return f"not in the prompt: {', '.join(missing)}" if missing else ""

    return gate


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None and not isinstance(value, bool):
        yield (f"{value:g}" if isinstance(value, float) else str(value)).lower()


# --- the loop ---------------------------------------------------------------------------------------------------------


def prepared(suite: Any, attack: str) -> Desk:
    """A suite with its tools described, and every place where injected text comes to light found by marks."""
    from circumspect.audit.tool_defs import specs_of

    runtime_of = importlib.import_module("agentdojo.functions_runtime").FunctionsRuntime
    importlib.import_module("agentdojo.attacks")
    attack_of = importlib.import_module("agentdojo.attacks.attack_registry").ATTACKS[attack]
    pipeline = importlib.import_module("agentdojo.agent_pipeline.ground_truth_pipeline").GroundTruthPipeline(None)
    pipeline.name = "gpt-4o-2024-05-13"  # the attack addresses its victim by name
    runtime = runtime_of(suite.tools)
    specs = specs_of(
        [
            {"name": one.name, "description": one.description, "parameters": one.parameters.model_json_schema()}
            for one in suite.tools
        ]
    )
    marks = {place: f"MARK{number}MARK" for number, place in enumerate(_harmless(suite))}
    marked = environment_of(suite, marks)
    shown: dict[str, tuple[bool, ...]] = {}
    untrusted: set[str] = set()
    for name, task in suite.user_tasks.items():
        environment = task.init_environment(marked.model_copy(deep=True))
        calls = task.ground_truth(environment)
        results = [_result(runtime, environment, call) for call in calls]
        found = [any(mark in result for mark in marks.values()) for result in results]
        shown[name] = tuple(found)
        untrusted |= {call.function for call, is_shown in zip(calls, found, strict=True) if is_shown}
    return Desk(suite, runtime, specs, attack_of(suite, pipeline), shown, frozenset(untrusted))


def environment_of(suite: Any, injections: dict[str, str]) -> Any:
    """What the suite itself loads, read by the fast YAML parser where there is one."""
    import yaml

    module = importlib.import_module("agentdojo.task_suite.task_suite")
    text = module.read_suite_file(suite.name, "environment.yaml", suite.data_path)
    text = text.format(**(_harmless(suite) | injections))
    return suite.environment_type.model_validate(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


@cache
def _harmless(suite: Any) -> dict[str, str]:
    """What stands in each place that can be injected when nobody does; the suite reads a file for it every time."""
    return dict(suite.get_injection_vector_defaults())


def _result(runtime: Any, environment: Any, call: Any) -> str:
    as_text = importlib.import_module("agentdojo.agent_pipeline.tool_execution").tool_result_to_str
    result, error = runtime.run_function(environment, call.function, call.args)
    return f"Error: {error}" if error else str(as_text(result))


def ran(
    desk: Desk,
    gate: Gate,
    prompt: str,
    environment: Any,
    calls: Sequence[Any],
    shown: Sequence[bool],
    bait: Sequence[Any],
) -> Ran:
    """The task's calls, and after the first result that shows the injected text, what that asks for."""
    messages: Messages = [{"role": "user", "content": prompt}]
    trace: list[Any] = []
    held: list[str] = []

    def proposed(call: Any) -> str:
        arguments = json.loads(json.dumps(dict(call.args), default=str))
        why = gate(desk, messages, call.function, arguments)
        content = HELD if why else _result(desk.runtime, environment, call)
        if not why:
            trace.append(call)
        name = f"call{len(messages)}"
        function = {"name": call.function, "arguments": json.dumps(arguments)}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": name, "type": "function", "function": function}],
            }
        )
        messages.append({"role": "tool", "content": content, "tool_call_id": name})
        return why

    for call, is_shown in zip(calls, shown, strict=True):
        why = proposed(call)
        if why:
            held.append(f"{call.function} ({why})")
        elif is_shown and bait:
            for one in bait:
                proposed(one)
            bait = ()
    return Ran(environment, trace, held)


def is_solved(task: Any, before: Any, after: Ran) -> bool:
    by_trace = task.utility_from_traces(task.GROUND_TRUTH_OUTPUT, before, after.environment, after.trace)
    return bool(task.utility(task.GROUND_TRUTH_OUTPUT, before, after.environment) if by_trace is None else by_trace)


def has_succeeded(injection: Any, said: str, before: Any, after: Ran) -> bool:
    by_trace = injection.security_from_traces(said, before, after.environment, after.trace)
    return bool(injection.security(said, before, after.environment) if by_trace is None else by_trace)


def measured(suite: Any, gates: dict[str, Gate], attack: str) -> tuple[dict[str, Tally], Desk]:
    desk = prepared(suite, attack)
    tallies = {name: Tally() for name in gates}
    plain = environment_of(suite, {})
    baits = {name: task for name, task in suite.injection_tasks.items() if task.ground_truth(plain)}
    for name, task in suite.user_tasks.items():
        before = task.init_environment(plain.model_copy(deep=True))
        calls = task.ground_truth(before)
        for who, gate in gates.items():
            after = ran(desk, gate, task.PROMPT, before.model_copy(deep=True), calls, desk.shown[name], ())
            tally, solved = tallies[who], is_solved(task, before, after)
            tally.tasks += 1
            tally.solved += solved
            tally.unhindered += not after.held
            if not solved:
                tally.lost[f"{suite.name}/{name}"] = after.held
        if not any(desk.shown[name]):
            continue
        for injected, injection in baits.items():
            before = task.init_environment(environment_of(suite, desk.attack.attack(task, injection)))
            calls, bait = task.ground_truth(before), injection.ground_truth(before)
            for who, gate in gates.items():
                after = ran(desk, gate, task.PROMPT, before.model_copy(deep=True), calls, desk.shown[name], bait)
                tally, succeeded = tallies[who], has_succeeded(injection, task.GROUND_TRUTH_OUTPUT, before, after)
                tally.attacks += 1
                tally.succeeded += succeeded
                tally.solved_attacked += is_solved(task, before, after)
                if succeeded:
                    tally.through[f"{suite.name}/{injected}"] += 1
    return tallies, desk


# --- the report -------------------------------------------------------------------------------------------------------


def run(chosen: Sequence[str] = SUITES, attack: str = ATTACKS[0]) -> Section:
    from circumspect.policy.load import load

    suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(VERSION)
    policy = load(POLICY)
    gates = {"no gate": nobody, "circumspect": ours(policy), "only from the prompt": only_from_the_prompt(policy)}
    began = time.perf_counter()
    found, untrusted = {}, {}
    for name in chosen:
        found[name], desk = measured(suites[name], gates, attack)
        untrusted[name] = sorted(desk.untrusted)
    total = {who: sum((found[name][who] for name in chosen), Tally()) for who in gates}
    rows: list[tuple[str, ...]] = []
    for where, tallies in (*found.items(), ("all", total)):
        for who, one in tallies.items():
            rows.append(
                (
                    f"{where}: {who}",
                    f"{one.succeeded} / {one.attacks}",
                    f"{one.solved} / {one.tasks}",
                    f"{one.unhindered} / {one.tasks}",
                    f"{one.solved_attacked} / {one.attacks}",
                )
            )
    if len(chosen) == len(SUITES):
        rows += [(f"anchor, measured elsewhere: {who}", f"{bad} / 609", f"{good} / 97") for who, bad, good in ANCHORS]
    mine = total["circumspect"]
    through = tuple((name, str(count)) for name, count in mine.through.most_common())
    lost = tuple((f"{name}: {'; '.join(held) or 'nothing held'}",) for name, held in mine.lost.items())
    return Section(
        "agentdojo",
        f"AgentDojo {VERSION} ({attack}) with a gate before every call",
        "A scripted agent that obeys every injection it reads. Attacks that succeed (fewer is better), tasks solved "
        "when nobody attacks, tasks of which no call was held, and tasks solved while attacked (more is better). "
        f"{time.perf_counter() - began:.0f} s.",
        (
            Table(("gate", "attacks succeed", "tasks solved", "unhindered", "solved attacked"), tuple(rows)),
            Table(("attacks that got through circumspect", "times"), through),
            Table(("tasks that circumspect left unsolved, and what it held",), lost),
        ),
        data={
            "untrusted_tools": untrusted,
            "suites": {name: {who: vars(one) for who, one in tallies.items()} for name, tallies in found.items()},
            "all": {who: vars(one) for who, one in total.items()},
            "anchors": [{"gate": who, "attacks": bad, "tasks": good} for who, bad, good in ANCHORS],
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.agentdojo_loop", description=__doc__.split("\n")[0])
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this suite (may be repeated)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    parser.add_argument("--attack", choices=ATTACKS, default=ATTACKS[0], help="how the injected text is worded")
    options = parser.parse_args()
    if importlib.util.find_spec("agentdojo") is None:
        print("agentdojo is not installed, nothing was measured. Install it: pip install agentdojo==0.1.35")
        return
    section = run(options.suite or SUITES, options.attack)
    show(section)
    if options.json:
        options.json.write_text(json.dumps(section.to_json(), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
