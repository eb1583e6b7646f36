"""What a reply says of a record's state, held against the status that was looked up."""

from __future__ import annotations

from typing import Any

import pytest

from circumspect.policy.grounding.ran_calls import RanCalls
from circumspect.policy.grounding.record_states import find_contradicted_states
from circumspect.values import PastCall, ToolCall


def looked_up(result: Any, tool: str = "get_order", **arguments: Any) -> PastCall:
    return PastCall(ToolCall(tool, arguments), result, True, True, 0)


def order(status: str, **more: Any) -> list[PastCall]:
    return [looked_up({"order_id": "A-77", "status": status, **more}, order_id="A-77")]


PAID, SENT, DELIVERED = order("paid", total=40), order("shipped"), order("delivered")
WAITLISTED = [looked_up({"booking_id": "B-77", "status": "waitlisted"}, "get_booking", booking_id="B-77")]
OVERDUE = [looked_up({"invoice_id": "A-77", "status": "overdue"}, "get_invoice", invoice_id="A-77")]
TWO = [looked_up([{"order_id": "A-77", "status": "paid"}, {"order_id": "A-78", "status": "shipped"}], "list_orders")]


@pytest.mark.parametrize(
    ("ran", "reply"),
    [
        (PAID, "Order A-77 has already been shipped."),
        (PAID, "Your order A-77 was delivered yesterday."),
        (PAID, "Unfortunately, order A-77 has already been shipped, so I can't cancel it."),
        (PAID, "I can see that your order arrived on Monday."),
        (PAID, "Good news: it's on its way to you. Your order is in transit."),
        (PAID, "Your order shipped yesterday."),
        (PAID, "It was delivered on 3 March, so the order is complete."),
        (SENT, "Your order A-77 has already been delivered."),
        (DELIVERED, "Your order is still being prepared."),
        (SENT, "Your order has not been shipped yet."),
        (WAITLISTED, "Your booking B-77 is confirmed."),
        (OVERDUE, "Invoice A-77 has already been paid."),
        (PAID, "ההזמנה A-77 כבר נשלחה."),
        (PAID, "ההזמנה שלך נמסרה אתמול."),
        (PAID, "החבילה בדרך אליך."),
        (PAID, "לצערי ההזמנה כבר נשלחה ולכן אי אפשר לבטל אותה."),
        (PAID, "ההזמנה A-77 סופקה ב-3 במרץ."),
        (PAID, "Заказ A-77 уже отправлен."),
        (PAID, "Ваш заказ был доставлен вчера."),
        (PAID, "К сожалению, ваш заказ уже отправлен, поэтому отменить его нельзя."),
        (PAID, "Посылка уже в пути."),
        (PAID, "Заказ A-77 вручён 3 марта."),
        (PAID, "Die Bestellung A-77 wurde bereits versandt."),
        (PAID, "Ihre Bestellung ist gestern zugestellt worden."),
        (PAID, "Leider wurde Ihre Bestellung A-77 schon verschickt."),
        (PAID, "Ihr Paket ist unterwegs."),
        (PAID, "Ihre Bestellung wurde am 3. März geliefert."),
        (DELIVERED, "Ihre Bestellung wird noch bearbeitet."),
        (DELIVERED, "Ваш заказ ещё в обработке."),
        (DELIVERED, "ההזמנה עדיין בטיפול."),
        (SENT, "Ihre Bestellung A-77 wurde noch nicht versandt."),
        (SENT, "Заказ A-77 ещё не отправлен."),
        (SENT, "ההזמנה עדיין לא נשלחה."),
        (TWO, "Order A-77 has been shipped."),
        (order("in_progress"), "Orders A-77 and A-78 have been delivered."),
        (order("paid"), "1. **Order A-77**: it has already been shipped."),
    ],
)
def test_a_state_that_the_record_contradicts_is_found(ran: list[PastCall], reply: str) -> None:
    assert find_contradicted_states(reply, RanCalls(ran)) != []


@pytest.mark.parametrize(
    ("ran", "reply"),
    [
        (PAID, "Order A-77 is paid and will be shipped soon."),
        (PAID, "Your order A-77 has not been shipped yet."),
        (PAID, "Once your order has been shipped, you will get a link."),
        (PAID, "A confirmation for order A-77 has been sent."),
        (PAID, "Your order A-77 can no longer be changed once it was shipped."),
        (PAID, "Orders are usually delivered within 3 days."),
        (PAID, "If the order was delivered, you can return it."),
        (PAID, "Your order A-77 is paid."),
        (PAID, "Your order has been placed and paid."),
        (PAID, "The invoice for your order has been delivered by e-mail."),
        (PAID, "It should have arrived by now, but the order is still only paid."),
        (PAID, "You said that your order was delivered."),
        (PAID, "A replacement for order A-77 has been shipped."),
        (PAID, "Items that have been shipped cannot be cancelled."),
        (PAID, "Your order is being prepared."),
        (PAID, "Order A-77 has been received."),
        (SENT, "Your order A-77 has already been shipped."),
        (SENT, "It is paid and it is on its way."),
        (DELIVERED, "Your order was shipped last week and has been delivered."),
        (DELIVERED, "Your order has been paid."),
        (WAITLISTED, "Your booking request B-77 is on the waiting list; it will be confirmed by Friday."),
        (PAID, "ההזמנה A-77 שולמה ותישלח בקרוב."),
        (PAID, "ההזמנה A-77 עדיין לא נשלחה."),
        (PAID, "אם ההזמנה כבר נשלחה, אי אפשר לבטל."),
        (PAID, "נשלח אליך מייל אישור להזמנה A-77."),
        (PAID, "אחרי שההזמנה תישלח תקבל קישור."),
        (PAID, "Заказ A-77 оплачен и скоро будет отправлен."),
        (PAID, "Заказ A-77 ещё не отправлен."),
        (PAID, "Если заказ уже отправлен, отменить его нельзя."),
        (PAID, "Письмо о заказе A-77 отправлено."),
        (PAID, "Когда заказ будет доставлен, мы сообщим."),
        (PAID, "Ihre Bestellung A-77 ist bezahlt und wird bald versandt."),
        (PAID, "Ihre Bestellung A-77 wurde noch nicht versandt."),
        (PAID, "Wenn die Bestellung bereits versandt wurde, kann sie nicht storniert werden."),
        (PAID, "Eine Bestätigung zu Bestellung A-77 wurde versendet."),
        (PAID, "Sobald Ihre Bestellung zugestellt wurde, melden wir uns."),
        (SENT, "Ihre Bestellung A-77 ist unterwegs."),
        (SENT, "Заказ A-77 отправлен."),
        (SENT, "ההזמנה A-77 נשלחה."),
        (PAID, "Has your order been shipped?"),
        (order("paid", shipped_at="2026-03-01"), "Order A-77 has been shipped."),
        (order("paid", fulfillment="shipped"), "Order A-77 has been shipped."),
        (order("completed"), "Order A-77 has been delivered."),
        (order("CA"), "Order A-77 has been delivered."),
        ([looked_up({"order_id": "A-77", "payment_status": "paid"})], "Order A-77 has been shipped."),
        (
            [looked_up({"order": {"order_id": "A-77", "status": "paid"}, "shipment": {"status": "in_transit"}})],
            "Order A-77 has been shipped.",
        ),
        ([*PAID, looked_up([{"event": "Delivered"}], "track", order_id="A-77")], "Order A-77 has been delivered."),
        ([*PAID, looked_up({"ok": True}, "ship_order", order_id="A-77")], "Order A-77 has been shipped."),
        (TWO, "Order A-78 has been shipped."),
        (TWO, "Your order has been shipped."),
        ([], "Order A-77 has been shipped."),
    ],
)
def test_what_the_record_bears_out_or_the_reply_does_not_say_stands(ran: list[PastCall], reply: str) -> None:
    assert find_contradicted_states(reply, RanCalls(ran)) == []


def test_a_refused_cancellation_bears_out_why() -> None:
    refused = PastCall(ToolCall("cancel_order", {"order_id": "A-77"}), {"error": "already shipped"}, False, True, 1)
    assert not find_contradicted_states("Order A-77 has already been shipped.", RanCalls([*PAID, refused]))
