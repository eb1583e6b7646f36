"""The smallest agent: one tool, no key, no set-up. It asks before it does what cannot be undone.

Everything is kept in `.circumspect/circumspect.db` below the folder it runs in.
"""

from circumspect import Agent, tool


@tool(effect="destructive", phrases={"en": "cancel order {order_id}"})
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return f"Order {order_id} is cancelled."


agent = Agent("support", tools=[cancel_order])
for text in ("Cancel order 12345", "Yes"):
    turn = agent.turn_sync(text)
    print(f"user:  {text}\nagent: {turn.reply}\n       ({turn.outcome}: {', '.join(turn.reason_codes)})")
