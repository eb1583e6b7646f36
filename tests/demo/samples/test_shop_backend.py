"""The sample shop's back end: a deterministic shop in which a repeated request happens once."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from circumspect.demo.samples.seeding import SERVICES
from circumspect.demo.samples.shop_backend import Backend, Refused
from circumspect.errors import ConfigError

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)  # a Sunday


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def shop(path: Path) -> Backend:
    shop = Backend(path, now=NOW)
    shop.products()
    return shop


def rows(path: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as db:
        found = db.execute(query, values).fetchall()
    db.close()
    return found


def content(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        lines = list(db.iterdump())
    db.close()
    return lines


def stock(shop: Backend) -> dict[str, int]:
    return {product.sku: product.stock for product in shop.products()}


# --- what is in it ---------------------------------------------------------------------------------------------------


def test_the_same_moment_gives_the_same_shop(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        Backend(tmp_path / name, now=NOW).products()
    assert content(tmp_path / "a.db") == content(tmp_path / "b.db")
    assert len(content(tmp_path / "a.db")) > 250


@pytest.mark.parametrize("now", [NOW, datetime(2027, 3, 31, 22, 59, tzinfo=UTC), datetime(2028, 2, 29, tzinfo=UTC)])
def test_the_shop_makes_sense_at_any_moment(path: Path, now: datetime) -> None:
    shop = Backend(path, now=now)
    assert shop.order("12345").status == "processing"
    assert shop.order("12345").payment == "paid"
    assert shop.order("99999").status == "shipped"
    assert shop.refund("12330", None, "", "k")["remaining"] == 0
    with pytest.raises(Refused, match="refund_late"):
        shop.refund("12295", None, "", "k2")
    today = shop.today()
    statuses: dict[str, int] = {}
    for (order_id,) in rows(path, "SELECT id FROM orders"):
        order = shop.order(str(order_id))
        statuses[order.status] = statuses.get(order.status, 0) + 1
        assert order.placed_on <= today
        assert order.items
        if order.status in ("processing", "shipped"):
            assert order.due_on > today
        if order.status == "delivered":
            assert order.delivered_on is not None
            assert order.placed_on < order.delivered_on < today
        assert sum(item.price * quantity for item, quantity in order.items) <= order.total
    assert sum(statuses.values()) == 62
    assert all(statuses[status] >= 3 for status in ("processing", "shipped", "delivered", "cancelled"))
    assert len(shop.products()) == 40


def test_nothing_is_made_before_it_is_needed(tmp_path: Path) -> None:
    shop = Backend(tmp_path / "new" / "shop.db", now=NOW)
    assert list(tmp_path.iterdir()) == []
    shop.products()
    assert (tmp_path / "new" / "shop.db").exists()


def test_what_happened_is_still_there_after_a_restart(path: Path) -> None:
    Backend(path, now=NOW).cancel_order("12345", "", "k")
    assert Backend(path, now=NOW + timedelta(days=1)).order("12345").status == "cancelled"


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ConfigError, match="time zone"):
        Backend(now=datetime(2026, 11, 15))


def test_a_database_of_another_version_is_refused_with_a_remedy(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(ConfigError, match="Delete the file"):
        Backend(path, now=NOW).products()


# --- the rules -------------------------------------------------------------------------------------------------------


def test_cancelling_returns_the_money_and_the_goods(shop: Backend) -> None:
    before, order = stock(shop), shop.order("12345")
    assert shop.cancel_order("12345", "too late", "k")["refunded"] == order.total / 100
    after = shop.order("12345")
    assert (after.status, after.payment, after.refunded) == ("cancelled", "refunded", order.total)
    for item, quantity in order.items:
        assert stock(shop)[item.sku] == before[item.sku] + quantity


def test_cancelling_an_order_that_was_not_paid_returns_nothing(shop: Backend, path: Path) -> None:
    (order_id,) = rows(path, "SELECT id FROM orders WHERE payment = 'pending'")[0]
    assert shop.cancel_order(str(order_id), "", "k")["refunded"] == 0
    assert shop.order(str(order_id)).payment == "void"


@pytest.mark.parametrize(
    ("order_id", "code"),
    [
        ("99999", "cancel_shipped"),
        ("12330", "cancel_delivered"),
        ("12338", "cancel_cancelled"),
        ("00000", "order_unknown"),
    ],
)
def test_only_an_order_in_the_warehouse_can_be_cancelled(shop: Backend, order_id: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        shop.cancel_order(order_id, "", "k")
    assert refused.value.code == code


def test_refunds_add_up_to_the_price_and_no_further(shop: Backend) -> None:
    total = shop.order("12330").total
    assert shop.refund("12330", 1000, "", "k1")["remaining"] == (total - 1000) / 100
    with pytest.raises(Refused, match="refund_too_much") as refused:
        shop.refund("12330", total - 999, "", "k2")
    assert refused.value.facts["amount"] == total - 1000
    for amount in (0, -5):
        with pytest.raises(Refused, match="refund_too_much"):
            shop.refund("12330", amount, "", "k3")
    assert shop.refund("12330", None, "", "k4") == {
        "order_id": "12330",
        "payment": "refunded",
        "refunded": (total - 1000) / 100,
        "remaining": 0.0,
        "currency": "ILS",
    }
    with pytest.raises(Refused, match="refund_done"):
        shop.refund("12330", None, "", "k5")


@pytest.mark.parametrize(
    ("order_id", "code"),
    [
        ("12345", "refund_processing"),
        ("99999", "refund_shipped"),
        ("12338", "refund_cancelled"),
        ("12295", "refund_late"),
    ],
)
def test_only_a_recent_delivery_can_be_refunded(shop: Backend, order_id: str, code: str) -> None:
    with pytest.raises(Refused, match=code):
        shop.refund(order_id, None, "", "k")


def test_an_address_can_be_changed_until_the_order_leaves(shop: Backend, path: Path) -> None:
    shop.update_address("12345", "1 New Street, Acre", "k")
    assert rows(path, "SELECT address FROM orders WHERE id = '12345'") == [("1 New Street, Acre",)]
    for order_id, code in (("99999", "shipped"), ("12330", "delivered"), ("12338", "cancelled")):
        with pytest.raises(Refused, match=f"address_{code}"):
            shop.update_address(order_id, "1 New Street, Acre", "k2")


def test_a_slot_is_free_until_it_is_booked(shop: Backend) -> None:
    day = date(2026, 11, 17)
    at = shop.free_slots(day, "boot fitting")[0]
    booked = shop.book_appointment(day, at, "boot fitting", "Dana", "052-5550101", "k")
    assert booked["date"] == "2026-11-17"
    assert at not in shop.free_slots(day, "boot fitting")
    with pytest.raises(Refused, match="slot_taken") as refused:
        shop.book_appointment(day, at, "boot fitting", "Tom", "052-5550102", "k2")
    assert refused.value.facts["times"] == shop.free_slots(day, "boot fitting")


@pytest.mark.parametrize(
    ("day", "at", "code"),
    [
        (date(2026, 11, 14), time(10), "slot_past"),
        (date(2026, 11, 15), time(10), "slot_past"),
        (date(2026, 11, 21), time(10), "slot_closed"),
        (date(2026, 11, 20), time(12, 30), "slot_closed"),
        (date(2026, 11, 17), time(10, 15), "slot_closed"),
        (date(2026, 11, 17), time(18), "slot_closed"),
        (date(2027, 1, 15), time(10), "slot_far"),
    ],
)
def test_only_times_at_which_someone_is_there_can_be_booked(shop: Backend, day: date, at: time, code: str) -> None:
    with pytest.raises(Refused, match=code):
        shop.book_appointment(day, at, "stove service", "Dana", "052-5550101", "k")
    assert at not in shop.free_slots(day, "stove service")


def test_every_service_has_free_and_taken_times_in_the_coming_week(shop: Backend) -> None:
    for service in SERVICES:
        free = shop.free_slots(date(2026, 11, 17), service)
        assert 0 < len(free) < 16


def test_a_deleted_account_leaves_no_personal_data_behind(shop: Backend, path: Path) -> None:
    (before,) = rows(path, "SELECT id, name, phone, address FROM customers WHERE email = ?", "maya.cohen@example.com")
    shop.delete_account(" Maya.Cohen@example.com", "k")
    assert rows(path, "SELECT name, email, phone, address FROM customers WHERE id = ?", before[0]) == [(None,) * 4]
    assert rows(path, "SELECT DISTINCT address FROM orders WHERE customer = ?", before[0]) == [(None,)]
    with pytest.raises(Refused, match="account_unknown"):
        shop.delete_account("maya.cohen@example.com", "k2")


def test_an_account_with_open_orders_stays(shop: Backend) -> None:
    with pytest.raises(Refused, match="account_open_orders") as refused:
        shop.delete_account("dana.levi@example.com", "k")
    assert "12345" in refused.value.facts["orders"]


# --- once ------------------------------------------------------------------------------------------------------------


def test_the_same_key_twice_is_one_effect_and_one_answer(shop: Backend, path: Path) -> None:
    first = shop.refund("12330", 500, "", "k")
    assert shop.refund("12330", 500, "", "k") == first
    assert Backend(path, now=NOW).refund("12330", 500, "", "k") == first
    assert rows(path, "SELECT amount FROM refunds WHERE order_id = '12330'") == [(500,)]


def test_a_key_is_good_for_one_request_only(shop: Backend) -> None:
    shop.refund("12330", 500, "", "k")
    with pytest.raises(Refused, match="key_reused"):
        shop.refund("12330", 600, "", "k")
    with pytest.raises(Refused, match="key_reused"):
        shop.cancel_order("12345", "", "k")
    assert shop.order("12345").status == "processing"


def test_a_refusal_does_not_use_the_key_up(shop: Backend, path: Path) -> None:
    with pytest.raises(Refused):
        shop.cancel_order("99999", "", "k")
    assert rows(path, "SELECT * FROM requests") == []


def test_a_change_whose_key_cannot_be_kept_does_not_happen(shop: Backend, path: Path) -> None:
    before = stock(shop)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    db.close()
    with pytest.raises(sqlite3.IntegrityError):
        shop.cancel_order("12345", "", "k")
    assert shop.order("12345").status == "processing"
    assert stock(shop) == before


@pytest.mark.parametrize("memory", [True, False])
def test_threads_with_one_key_make_one_effect(path: Path, memory: bool) -> None:
    shop = Backend(now=NOW) if memory else Backend(path, now=NOW)
    before, order = stock(shop), shop.order("12345")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: shop.cancel_order("12345", "", "k"), range(32)))
    assert all(answer == answers[0] for answer in answers)
    for item, quantity in order.items:
        assert stock(shop)[item.sku] == before[item.sku] + quantity


WORKER = """
import json, sys
from datetime import datetime
from pathlib import Path
from circumspect.demo.samples.shop_backend import Backend, Refused

path, now, number = Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
shop = Backend(path, now=now)
shared = shop.refund("12330", 700, "", "shared")
try:
    own = shop.cancel_order("12345", "", f"own-{number}")["status"]
except Refused as refused:
    own = refused.code
print(json.dumps([shared, own]))
"""


def test_processes_that_start_at_once_share_one_shop_and_one_effect(path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), NOW.isoformat(), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    answers = [json.loads(worker.communicate(timeout=PATIENCE)[0]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    assert all(shared == answers[0][0] for shared, _ in answers)
    assert sorted(own for _, own in answers) == ["cancel_cancelled", "cancel_cancelled", "cancelled"]
    assert rows(path, "SELECT amount FROM refunds WHERE order_id = '12330'") == [(700,)]
    assert rows(path, "SELECT count(*) FROM orders") == [(62,)]
