"""Talk with the offline model as the draft step does: context rounds are answered, the conversation is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from circumspect.demo.offline import OfflineModel
from circumspect.values import (
    Block,
    Business,
    ChatMessage,
    Faq,
    Json,
    Language,
    Mode,
    ModelReply,
    ModelRequest,
    ToolSpec,
)

NOTHING = "(there is nothing under this key)"
TODAY = "2026-03-04, Wednesday"


def spec(
    name: str, description: str = "", /, optional: Sequence[str] = (), **properties: Mapping[str, Json]
) -> ToolSpec:
    required = [key for key in properties if key not in optional]
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": required})


TEXT: Mapping[str, Json] = {"type": "string"}
TOOLS = (
    spec("get_order_status", order_id=TEXT),
    spec("check_inventory", product=TEXT),
    spec("cancel_order", optional=("reason",), order_id=TEXT, reason=TEXT),
    spec("refund", optional=("amount",), order_id=TEXT, amount={"anyOf": [{"type": "number"}, {"type": "null"}]}),
    spec("delete_account", email={"type": "string", "format": "email"}),
    spec("update_address", order_id=TEXT, address=TEXT),
    spec(
        "book_appointment",
        service={"type": "string", "enum": ["haircut", "knife sharpening"]},
        date={"type": "string", "format": "date"},
        time=TEXT,
        name=TEXT,
        phone=TEXT,
    ),
)
SHOPS: Mapping[Language, Business] = {
    "en": Business(
        name="Corner Shop",
        description="Everything for the kitchen.",
        hours="Sunday to Thursday 9:00-18:00",
        phone="+1 555 0100",
        email="hello@corner.example",
        contact="Come and see us at 5 Mill Lane, Springfield.",
        policies={
            "returns": "Unused items can be returned within 30 days. Refunds reach your card in 5 working days.",
            "shipping": "Standard delivery: three days, $5. Express delivery: the next day, $12.",
        },
        faqs=(
            Faq("Do you wrap gifts?", "Yes, gift wrapping is free."),
            Faq("Can I pay in instalments?", "Yes, in three payments."),
        ),
    ),
    "he": Business(
        name="חנות הפינה",
        hours="ראשון עד חמישי 9:00-18:00",
        phone="+972 4 555 0100",
        email="hello@corner.example",
        policies={
            "returns": "אפשר להחזיר מוצר שלא נעשה בו שימוש עד 30 יום. הזיכוי מגיע תוך 5 ימי עסקים.",
            "shipping": 'משלוח רגיל נמשך 3 ימים. משלוח מהיר מגיע למחרת ועולה 40 ש"ח.',
        },
        faqs=(Faq("אתם עוטפים מתנות?", "כן, עטיפת מתנה היא בחינם."), Faq("אפשר לשלם בתשלומים?", "כן, בשלושה תשלומים.")),
    ),
    "ru": Business(
        name="Лавка на углу",
        hours="воскресенье – четверг 9:00-18:00",
        phone="+7 812 555 0100",
        email="hello@corner.example",
        policies={
            "returns": "Неиспользованный товар можно вернуть в течение 30 дней. Деньги приходят за 5 рабочих дней.",
            "shipping": "Обычная доставка занимает 3 дня. Срочная доставка – на следующий день, 400 рублей.",
        },
        faqs=(
            Faq("Упаковываете ли вы подарки?", "Да, подарочная упаковка бесплатна."),
            Faq("Можно платить в рассрочку?", "Да, тремя платежами."),
        ),
    ),
}


@dataclass(frozen=True)
class Answer:
    """What came back at the end of a turn."""

    text: str
    tool: str | None
    arguments: Mapping[str, Json]
    missing: tuple[str, ...] = ()
    confidence: int = 0
    confirm: bool = False
    destructive: bool = False
    asked_for: tuple[str, ...] = ()
    """Context keys that were fetched on the way."""


@dataclass
class Talk:
    language: Language = "en"
    mode: Mode = "adaptive"
    tools: Sequence[ToolSpec] = TOOLS
    business: Business | None = None
    today: str = TODAY
    history: int = 5
    said: list[ChatMessage] = field(default_factory=list)
    model: OfflineModel = field(default_factory=OfflineModel)

    @property
    def shop(self) -> Business:
        return self.business or SHOPS.get(self.language, SHOPS["en"])

    async def user(self, text: str) -> Answer:
        messages = (*self.said[-self.history :], ChatMessage("user", text))
        answer = await (self._assessed(messages) if self.mode == "adaptive" else self._plain(messages))
        self.said += [ChatMessage("user", text), ChatMessage("assistant", answer.text)]
        return answer

    def assistant(self, text: str) -> None:
        """The system's own words took the place of the model's."""
        self.said[-1] = ChatMessage("assistant", text)

    def request(self, messages: Sequence[ChatMessage], extra: Sequence[Block] = ()) -> ModelRequest:
        instructions = f"You are the assistant of {self.shop.name}."
        if self.mode == "standard":
            blocks = [self._basics(), *(Block(key, text) for key, text in self._contents().items())]
            return ModelRequest(
                "draft", "p", instructions, tuple(messages), tuple(blocks), tuple(self.tools), language=self.language
            )
        keys = [*self._contents(), "tool_schema:NAME"]
        blocks = [
            self._basics(),
            Block("tools", "\n".join(tool.signature for tool in self.tools) or "(none)"),
            Block("context", "\n".join(keys)),
            *extra,
        ]
        return ModelRequest("draft", "p", instructions, tuple(messages), tuple(blocks), language=self.language)

    async def _plain(self, messages: Sequence[ChatMessage]) -> Answer:
        reply = await self.model.complete(self.request(messages))
        assert "<assessment>" not in reply.text
        call = reply.calls[0] if reply.calls else None
        return Answer(reply.text, call.tool if call else None, call.arguments if call else {})

    async def _assessed(self, messages: Sequence[ChatMessage]) -> Answer:
        extra: list[Block] = []
        for _ in range(4):
            reply = await self.model.complete(self.request(messages, extra))
            visible, found = split(reply)
            wanted = found["needs_more_context"]
            if not wanted:
                return Answer(
                    text=visible,
                    tool=found["tool_call"],
                    arguments=found["tool_params"],
                    missing=tuple(found["missing_params"]),
                    confidence=found["confidence"],
                    confirm=found["needs_confirmation"],
                    destructive=found["is_destructive"],
                    asked_for=tuple(block.key for block in extra),
                )
            extra += [Block(key, self._fetched(key)) for key in wanted]
        raise AssertionError("the model keeps asking for context")

    def _basics(self) -> Block:
        shop = self.shop
        lines = {"Name": shop.name, "Description": shop.description, "Hours": shop.hours, "Phone": shop.phone}
        lines |= {"E-mail": shop.email, "Today": self.today}
        return Block("business", "\n".join(f"{name}: {text}" for name, text in lines.items() if text))

    def _contents(self) -> dict[str, str]:
        shop = self.shop
        contents = {f"policies.{name}": text for name, text in shop.policies.items()}
        contents["faqs"] = "\n\n".join(f"Q: {faq.question}\nA: {faq.answer}" for faq in shop.faqs)
        contents |= {"contact.full": shop.contact, "about.full": shop.about}
        return {key: text for key, text in contents.items() if text}

    def _fetched(self, key: str) -> str:
        if key.startswith("tool_schema:"):
            tool = next(tool for tool in self.tools if tool.name == key.removeprefix("tool_schema:"))
            return json.dumps({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
        return self._contents().get(key, NOTHING)


def split(reply: ModelReply) -> tuple[str, dict[str, Json]]:
    """The visible text and the assessment; there must be exactly one, at the end."""
    visible, opening, rest = reply.text.partition("<assessment>")
    inside, closing, tail = rest.partition("</assessment>")
    assert opening
    assert closing
    assert not tail.strip()
    found = json.loads(inside)
    assert set(found) == {
        "confidence", "tool_call", "tool_params", "missing_params", "is_destructive", "needs_confirmation",
        "needs_more_context",
    }  # fmt: skip
    assert 1 <= found["confidence"] <= 10
    return visible.strip(), found
