"""Who takes part, and every proposal through each of them, interleaved, in an order drawn by lot."""

from __future__ import annotations

import importlib
import random
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version

from bench.clock import drawn, frozen
from bench.gates.contestant import Contestant, Watch
from bench.gates.proposals import House, Kind, Outcome, Proposal


@dataclass
class Result:
    name: str
    package: str
    glue: int
    became: dict[str, Outcome] = field(default_factory=dict)
    """By the proposal's name."""
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def version(self) -> str:
        return version(self.package)

    def count(self, proposals: list[Proposal], kind: Kind) -> Counter[Outcome]:
        return Counter(self.became[one.name] for one in proposals if one.kind == kind)


def gather_ours(house: House) -> list[Contestant]:
    from bench.gates.through_gate import ThroughGate

    return [ThroughGate(house)]


def gather_langchain(house: House) -> list[Contestant]:
    there = importlib.import_module("bench.gates.through_langchain")
    return [
        there.ThroughLangChain(house, "nothing (LangChain agent as it is)", "langchain", there.leave_alone),
        there.ThroughLangChain(
            house, "Circumspect, LangChain middleware", "circumspect", there.gate_every_call, policy=True
        ),
        there.ThroughLangChain(
            house, "LangChain HITL, where a yes is needed", "langchain", there.ask_where_a_yes_is_needed
        ),
        there.ThroughLangChain(house, "LangChain HITL, on every change", "langchain", there.ask_about_every_change),
    ]


def gather_openai_agents(house: House) -> list[Contestant]:
    return [importlib.import_module("bench.gates.through_openai_agents").ThroughOpenAIAgents(house)]


def gather_toolkit(house: House) -> list[Contestant]:
    return [importlib.import_module("bench.gates.through_agt").ThroughToolkit(house)]


GATHERERS: tuple[Callable[[House], list[Contestant]], ...] = (
    gather_ours, gather_langchain, gather_openai_agents, gather_toolkit,
)  # fmt: skip
PEERS = ("langchain", "langchain_core", "langgraph", "agents", "agentmesh")


def gather(house: House) -> tuple[list[Contestant], list[str]]:
    """Everybody who is installed, and the modules that are not."""
    ready: list[Contestant] = []
    missing: list[str] = []
    for gatherer in GATHERERS:
        try:
            ready += gatherer(house)
        except ModuleNotFoundError as error:
            if str(error.name).split(".")[0] not in PEERS:
                raise
            missing.append(str(error.name))
    return ready, missing


async def run_all(house: House, contestants: list[Contestant], rounds: int) -> list[Result]:
    """What a contestant makes of a proposal must be the same in every round. In the first one, which warms up, whoever
    is asked says yes; later that would use up the limits of the person."""
    results = {one.name: Result(one.name, one.package, one.glue) for one in contestants}
    lots = random.Random(1)
    with frozen():
        for number in range(rounds + 1):
            for proposal in house.proposals:
                for one in drawn(contestants, lots):
                    watch, result = Watch(), results[one.name]
                    became = await one.propose(proposal, watch, says_yes=not number)
                    if result.became.setdefault(proposal.name, became) != became:
                        raise AssertionError(f"{one.name}: {proposal.name!r} became {became} in round {number}")
                    if number:
                        result.seconds.append(watch.seconds)
    for one in contestants:
        await one.close()
    return list(results.values())
