"""Words that nobody had tried: buttons without a form, and what a page says after a form was sent, in four languages."""

from __future__ import annotations

import pytest

from circumspect.values import ToolCall
from circumspect.web.browser.commit_clicks import commits
from circumspect.web.browser.expectations import expect
from circumspect.web.browser.html_snapshot import page_of_html
from circumspect.web.browser.verification import verify
from circumspect.web.page import Element, Page

COMMITTING = [
    "Void", "Ban user", "Drop table", "Retry payment", "Book now", "Revoke", "Merge", "Wipe device", "Kick",
    "Disable 2FA", "Top up", "Rotate key", "Release", "Place bid", "Restart server", "Charge card", "Sign",
    "בטל חיוב", "חסום משתמש", "מחק טבלה", "העבר כסף", "סגור חשבון", "אפס סיסמה", "חתום",
    "Аннулировать", "Заблокировать", "Удалить таблицу", "Повторить платёж", "Списать", "Снять деньги",
    "Stornieren", "Nutzer sperren", "Tabelle löschen", "Zahlung wiederholen", "Jetzt buchen", "Abbuchen", "Freigeben",
]  # fmt: skip
HARMLESS = ["Show more", "Mehr anzeigen", "Показать ещё", "הצג עוד", "Search", "Suchen", "Поиск", "חיפוש", "Cancel"]

REFUSED = [
    "Your card was declined.", "Insufficient funds", "Transaction failed", "Payment unsuccessful", "Do not honor",
    "Session expired", "503 Service Unavailable", "Your bank refused the payment", "Expired card", "Limit exceeded",
    "הכרטיס נדחה", "אירעה שגיאה", "אין יתרה מספקת", "החיבור פג", "העסקה סורבה",
    "Карта отклонена", "Недостаточно средств", "Сессия истекла", "Банк отказал в операции",
    "Zahlung fehlgeschlagen", "Guthaben nicht ausreichend", "Sitzung abgelaufen", "Die Bank hat die Zahlung verweigert",
]  # fmt: skip
TAKEN = ["Thank you for your order", "Zahlung erhalten", "Спасибо за заказ", "התשלום התקבל"]
CHECKOUT = """<main><h1>Checkout</h1><form method=post action=/pay><label>Card <input name=card value=4111></label>
<button>Pay now</button></form></main>"""
HERE, THERE = "https://shop.example/checkout", "https://shop.example/result"


def find_button(page: Page) -> Element:
    return next(one for one in page.elements if one.role == "button")


@pytest.mark.parametrize("name", COMMITTING)
def test_a_button_without_a_form_asks_first(name: str) -> None:
    page = page_of_html(f"<main><h1>Account 5</h1><p>Open since May.</p><button>{name}</button></main>", HERE)
    assert commits(find_button(page), page)


@pytest.mark.parametrize("name", HARMLESS)
def test_one_that_only_looks_or_leaves_does_not(name: str) -> None:
    page = page_of_html(f"<main><h1>Account 5</h1><p>Open since May.</p><button>{name}</button></main>", HERE)
    assert not commits(find_button(page), page)


def is_success(said: str, url: str, tag: str) -> bool:
    before, after = page_of_html(CHECKOUT, HERE), page_of_html(f"<main><{tag}>{said}</{tag}></main>", url)
    call = ToolCall("submit", {"element": find_button(before).id})
    return verify(expect(call, before), before, after).success


@pytest.mark.parametrize("tag", ["h1", "p"])
@pytest.mark.parametrize("url", [HERE, THERE])
@pytest.mark.parametrize("said", REFUSED)
def test_a_page_that_refuses_is_no_success_wherever_and_however_it_says_so(said: str, url: str, tag: str) -> None:
    assert not is_success(said, url, tag)


@pytest.mark.parametrize("tag", ["h1", "p"])
@pytest.mark.parametrize("said", TAKEN)
def test_a_page_that_says_it_worked_is_one(said: str, tag: str) -> None:
    assert is_success(said, THERE, tag)
