"""shop_tools: the sample shop's back end and a language -> what its agent can do.

Keys of results are English and stay as they are; `message` is for people, in the tenant's language, and so is the text
of a refusal. Formats are in the schemas, where the policy checks them before anything here runs.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from circumspect.demo.samples.seeding import SERVICES
from circumspect.demo.samples.shop_backend import Backend, Product, Refused, ShopOrder
from circumspect.demo.samples.shop_messages import LANGUAGES_SPOKEN, MessageFact, label, say, wording
from circumspect.errors import ToolError
from circumspect.language.pack import join_patterns, packs
from circumspect.tools.functions import FunctionTool, IdempotencyKey, tool
from circumspect.tools.tool_context import ToolContext
from circumspect.values import Json, Language

T = TypeVar("T")
Service = Literal["knife sharpening", "stove service", "boot fitting", "showroom visit"]
MATCHES = 5


def for_tenant(context: ToolContext) -> list[FunctionTool[..., Any]]:
    """What the tenant files of the samples name: the tools over a back end beside the database."""
    backend = Backend(context.directory / f"sample-{context.tenant}.db", now=context.clock.now())
    return shop_tools(backend, context.language)


def shop_tools(backend: Backend, language: Language) -> list[FunctionTool[..., Any]]:
    """All nine tools of the shop, in English where the shop does not speak the tenant's language."""
    from pydantic import Field

    language = language if language in LANGUAGES_SPOKEN else "en"
    services = "; ".join(f"{service} ({label('services', service, language)})" for service in SERVICES)
    OrderId = Annotated[str, Field(pattern="^[0-9]{5}$", description="The order number: five digits.")]  # noqa: N806
    Email = Annotated[  # noqa: N806
        str, Field(json_schema_extra={"format": "email"}, max_length=254, description="The customer's e-mail address.")
    ]
    Phone = Annotated[  # noqa: N806
        str, Field(pattern=r"^\+?[0-9][0-9 ()\-]{6,18}$", description="A phone number for questions about the visit.")
    ]
    Hour = Annotated[  # noqa: N806
        str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", description="The time of day, HH:MM, on the half hour.")
    ]
    Reason = Annotated[str, Field(max_length=500, description="Why, in the customer's words.")]  # noqa: N806
    Visit = Annotated[Service, Field(description=f"What for: {services}.")]  # noqa: N806
    Day = Annotated[dt.date, Field(description="The date, YYYY-MM-DD.")]  # noqa: N806

    Amount = Annotated[  # noqa: N806
        float | None, Field(ge=0.01, description="Shekels to pay back; all that is left if not given.")
    ]

    def answer(code: str, **facts: MessageFact) -> str:
        return say("answers", code, language, **facts)

    def ask_backend(question: Callable[[], T]) -> T:
        """What the back end answers; its no becomes the tool's."""
        try:
            return question()
        except Refused as refused:
            raise ToolError(say("refusals", refused.code, language, **refused.facts)) from None

    @tool(effect="read", timeout=10, **wording("get_order_status"))
    def get_order_status(order_id: OrderId) -> dict[str, Json]:
        """Tell where an order is: its status, contents, payment and delivery date."""
        order = ask_backend(lambda: backend.order(order_id))
        when = order.delivered_on or order.cancelled_on or order.due_on
        return {
            **_summary(order),
            "refunded": order.refunded / 100,
            "payment": order.payment,
            "tracking": order.tracking,
            "due_on": str(order.due_on) if order.status in ("processing", "shipped") else None,
            "delivered_on": str(order.delivered_on) if order.delivered_on else None,
            "items": [{"name": item.names[language], "quantity": quantity} for item, quantity in order.items],
            "message": answer(f"order_{order.status}", order_id=order_id, date=when),
        }

    @tool(effect="read", timeout=10, **wording("list_orders"))
    def list_orders(email: Email) -> dict[str, Json]:
        """List the ten newest orders of a customer: number, status, date and total."""
        orders = backend.orders_of(email)[:10]
        told = tuple(f"{order.id} ({label('statuses', order.status, language)})" for order in orders)
        message = answer("orders_found", email=email, orders=told) if orders else answer("orders_none", email=email)
        return {"orders": [_summary(order) for order in orders], "message": message}

    @tool(effect="read", timeout=10, **wording("check_inventory"))
    def check_inventory(
        product: Annotated[str, Field(min_length=2, max_length=100, description="A product's name or SKU (KK-101).")],
    ) -> dict[str, Json]:
        """Look a product up: what it costs and how many are in stock."""
        found = matching(product, backend.products())
        lines = [
            answer("product_in_stock", name=item.names[language], stock=item.stock, price=item.price)
            if item.stock or item.restock_on is None
            else answer("product_sold_out", name=item.names[language], date=item.restock_on, price=item.price)
            for item in found
        ]
        return {
            "products": [
                {
                    "sku": item.sku,
                    "name": item.names[language],
                    "stock": item.stock,
                    "price": item.price / 100,
                    "currency": "ILS",
                    "restock_on": str(item.restock_on) if item.restock_on and not item.stock else None,
                }
                for item in found
            ],
            "message": " ".join(lines) or answer("product_unknown", product=product),
        }

    @tool(effect="read", timeout=10, **wording("list_free_slots"))
    def list_free_slots(date: Day, service: Visit) -> dict[str, Json]:
        """List the times of a day at which the workshop or showroom is free."""
        free = backend.free_slots(date, service)
        message = answer("slots_free", date=date, times=free) if free else answer("slots_none", date=date)
        times = [at.strftime("%H:%M") for at in free]
        return {"date": str(date), "service": service, "times": times, "message": message}

    @tool(effect="destructive", recovery="keyed", timeout=10, **wording("cancel_order"))
    def cancel_order(order_id: OrderId, key: IdempotencyKey, reason: Reason = "") -> dict[str, Json]:
        """Cancel an order that has not left the warehouse yet, and return what was paid."""
        done = ask_backend(lambda: backend.cancel_order(order_id, reason, key))
        amount = _agorot(done["refunded"])
        code = "cancelled" if amount else "cancelled_unpaid"
        return {**done, "message": answer(code, order_id=order_id, amount=amount)}

    @tool(effect="destructive", recovery="keyed", timeout=10, **wording("refund"))
    def refund(
        order_id: OrderId,
        key: IdempotencyKey,
        amount: Amount = None,
        reason: Reason = "",
    ) -> dict[str, Json]:
        """Pay back the price of a delivered order, or a part of it, within 30 days of delivery."""
        if amount is not None and Decimal(str(amount)) * 100 % 1:
            raise ToolError(say("refusals", "refund_fraction", language))
        agorot = None if amount is None else _agorot(amount)
        done = ask_backend(lambda: backend.refund(order_id, agorot, reason, key))
        return {**done, "message": answer("refunded", order_id=order_id, amount=_agorot(done["refunded"]))}

    @tool(effect="write", recovery="keyed", timeout=10, **wording("update_address"))
    def update_address(
        order_id: OrderId,
        address: Annotated[str, Field(min_length=8, max_length=200, description="Street, number and town.")],
        key: IdempotencyKey,
    ) -> dict[str, Json]:
        """Change where an order goes, as long as it has not left the warehouse."""
        done = ask_backend(lambda: backend.update_address(order_id, address, key))
        return {**done, "message": answer("address_changed", order_id=order_id, address=address)}

    @tool(effect="write", recovery="keyed", timeout=10, **wording("book_appointment"))
    def book_appointment(
        date: Day,
        time: Hour,
        service: Visit,
        name: Annotated[str, Field(min_length=2, max_length=80, description="Who is coming.")],
        phone: Phone,
        key: IdempotencyKey,
    ) -> dict[str, Json]:
        """Book half an hour in the workshop or showroom."""
        at = dt.time.fromisoformat(time)
        done = ask_backend(lambda: backend.book_appointment(date, at, service, name, phone, key))
        shown = label("services", service, language)
        booking = str(done["appointment_id"])
        return {**done, "message": answer("booked", service=shown, date=date, time=at, appointment_id=booking)}

    @tool(effect="destructive", recovery="keyed", timeout=10, **wording("delete_account"))
    def delete_account(email: Email, key: IdempotencyKey) -> dict[str, Json]:
        """Delete a customer's account and personal data for good. Impossible while an order is open."""
        done = ask_backend(lambda: backend.delete_account(email, key))
        return {**done, "message": answer("account_deleted", email=email)}

    return [
        get_order_status,
        list_orders,
        check_inventory,
        list_free_slots,
        cancel_order,
        refund,
        update_address,
        book_appointment,
        delete_account,
    ]


def _summary(order: ShopOrder) -> dict[str, Json]:
    return {
        "order_id": order.id,
        "status": order.status,
        "placed_on": str(order.placed_on),
        "total": order.total / 100,
        "currency": "ILS",
    }


def _agorot(shekels: Json) -> int:
    return int(Decimal(str(shekels)) * 100)


# --- finding a product by what a customer calls it -------------------------------------------------------------------


def matching(text: str, products: tuple[Product, ...]) -> tuple[Product, ...]:
    """The products that share most words with the text, in any language; a SKU finds just its own."""
    wanted = text.strip().casefold()
    exact = tuple(product for product in products if product.sku.casefold() == wanted)
    if exact:
        return exact
    words = _words(wanted)
    scores = {product.sku: _score(words, product) for product in products}
    best = max(scores.values(), default=0)
    return tuple(product for product in products if best and scores[product.sku] == best)[:MATCHES]


def _words(text: str) -> list[str]:
    found = re.findall(r"\w+", text.casefold())
    return [_glued().sub("", word) for word in found if len(word) > 2 or word.isdigit()]


@cache
def _glued() -> re.Pattern[str]:
    """Small words that are written together with the next one, where enough of that one is left."""
    ways = (rf"{join_patterns(one.about.glued)}(?=[{one.script.letters}]{{3}})" for one in packs() if one.about.glued)
    return re.compile(f"^{join_patterns(ways)}")


def _score(words: list[str], product: Product) -> int:
    """Words count when they begin alike: endings change with case and number, beginnings seldom do."""
    return max(
        sum(any(_alike(word, other) for other in _words(name)) for word in words) for name in product.names.values()
    )


def _alike(word: str, other: str) -> bool:
    if word.isdigit() or other.isdigit():
        return word == other
    stem = max(3, min(len(word), len(other)) - 2)
    return word[:stem] == other[:stem]
