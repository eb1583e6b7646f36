"""Reply context: what every ending of a turn needs to be said, and the words that it is said in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from circumspect import wording
from circumspect.frozen_slots import fill_directly
from circumspect.language import catalogue
from circumspect.policy.policy_file import Policy
from circumspect.ports import Clock, Ids
from circumspect.values import Enforced, Execution, Intent, Language, Profile, Screened, ToolSpec


@fill_directly
@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What every ending needs: who speaks, to whom, about which tools."""

    screened: Screened
    policy: Policy
    tools: Mapping[str, ToolSpec]
    profile: Profile
    clock: Clock
    ids: Ids
    earlier: Sequence[Execution] = ()
    """Calls of an interrupted turn whose outcome the user has not been told."""

    @property
    def language(self) -> Language:
        return self.screened.language

    def say(self, key: str, **values: str | int | float) -> str:
        return catalogue.say(self.language, key, **values)

    def phrases(self, tool: str) -> Mapping[str, str]:
        said = self.policy.of(tool, self.screened.incoming.tenant)
        return said.phrase if said else {}

    def action(self, call_owner: Enforced | Execution | Intent) -> str:
        call = call_owner.call
        return wording.action(call, self.tools.get(call.tool), self.language, self.phrases(call.tool))

    def describe(self, enforced: Enforced) -> wording.Description:
        """The call with all that a yes is for."""
        call, spec = enforced.call, self.tools.get(enforced.call.tool)
        return wording.describe_call(call, spec, self.language, self.phrases(call.tool), enforced.wholes)

    def title(self, tool: str) -> str:
        return wording.title(tool, self.tools.get(tool), self.language, self.phrases(tool))

    def name_plainly(self, text: str) -> str:
        """Words of a model, without the names that tools and their parameters have among machines."""
        return wording.name_plainly(text, self.tools, self.language, self.phrases)
