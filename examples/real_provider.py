"""The demo shop with a real language model.

    export CIRCUMSPECT_MODEL=openai:gpt-4o OPENAI_API_KEY=…
    python examples/real_provider.py

Without a model it says what to set, and ends.
"""

import asyncio
import os
from datetime import UTC, datetime

from circumspect import Agent
from circumspect.demo import samples
from circumspect.errors import ConfigError

WHAT_TO_SET = """\
No language model is set, so there is nothing to show. Set one of these and run it again:

  CIRCUMSPECT_MODEL=openai:gpt-4o                                with OPENAI_API_KEY
  CIRCUMSPECT_MODEL=anthropic:claude-sonnet-4-5                  with ANTHROPIC_API_KEY
  CIRCUMSPECT_MODEL=openai:NAME@http://127.0.0.1:8080/v1         any OpenAI-compatible server, no key

`circumspect demo` needs none of them."""


async def main() -> None:
    if not os.environ.get("CIRCUMSPECT_MODEL"):
        print(WHAT_TO_SET)
        return
    shop = samples.load("shop", directory=None, now=datetime.now(UTC))
    try:
        agent = Agent(shop.tenant, tools=shop.tools, policy=shop.policy_path, database=":memory:")
    except ConfigError as problem:
        print(f"{problem.problem}\n{problem.fix}")
        return
    print(f"model: {agent.model.name}")
    async with agent:
        for text in ("Where is order 12345?", "Please cancel it", "Yes"):
            turn = await agent.turn(text, conversation="c1")
            usage, why = turn.usage, ", ".join(turn.reason_codes) or "no reason codes"
            print(f"user:  {text}\nagent: {turn.reply}\n       ({turn.outcome}; {why};")
            print(
                f"       {len(usage.calls)} model call(s), {usage.input_tokens} tokens in, {usage.output_tokens} out,"
            )
            print(f"       ${usage.cost_usd:.4f})")


if __name__ == "__main__":
    asyncio.run(main())
