"""Tools that a client of the sample shop brings along."""

CANCEL = {
    "type": "function",
    "function": {
        "name": "cancel_order",
        "description": "Cancel an order that has not been sent yet.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
    },
}
STATUS = {
    "type": "function",
    "function": {
        "name": "get_order_status",
        "description": "Where an order is, and since when.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
    },
}
TOOLS = [STATUS, CANCEL]
