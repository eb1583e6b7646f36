"""seeding: an empty database and a moment -> a shop in full swing at that moment.

Sixty-two orders by twelve customers over about two months, forty products, two weeks of appointments. No randomness:
everything is counted out from the moment, so the same moment gives the same rows. Worth knowing by heart:

    12345  being prepared, can be cancelled (dana.levi@example.com)
    99999  on its way, can no longer be cancelled
    12330  delivered some days ago, can be refunded
    12295  delivered too long ago for that
    maya.cohen@example.com  has no open orders and can delete her account
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone

from circumspect.demo.samples.sample_files import read

SCHEMA_VERSION = 1
SHOP_TIME = timezone(timedelta(hours=2))
"""The shop's wall clock. A sample has no summer time."""

SERVICES = ("knife sharpening", "stove service", "boot fitting", "showroom visit")

NEWEST = 12350
COUNT = 61
FREE_SHIPPING_FROM = 250_00
SHIPPING = 25_00

_TABLES = (
    """CREATE TABLE products (
        sku TEXT PRIMARY KEY, en TEXT NOT NULL, he TEXT NOT NULL, ru TEXT NOT NULL,
        price INTEGER NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0), restock_on TEXT)""",
    """CREATE TABLE customers (
        id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, phone TEXT, address TEXT, deleted_at TEXT)""",
    """CREATE TABLE orders (
        id TEXT PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers,
        status TEXT NOT NULL CHECK (status IN ('processing', 'shipped', 'delivered', 'cancelled')),
        payment TEXT NOT NULL CHECK (payment IN ('pending', 'paid', 'partly_refunded', 'refunded', 'void')),
        method TEXT NOT NULL, total INTEGER NOT NULL, refunded INTEGER NOT NULL CHECK (refunded BETWEEN 0 AND total),
        placed_at TEXT NOT NULL, due_on TEXT NOT NULL, shipped_at TEXT, delivered_at TEXT, cancelled_at TEXT,
        tracking TEXT, address TEXT, reason TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE items (
        order_id TEXT NOT NULL REFERENCES orders, sku TEXT NOT NULL REFERENCES products, quantity INTEGER NOT NULL,
        price INTEGER NOT NULL, PRIMARY KEY (order_id, sku))""",
    """CREATE TABLE refunds (
        id INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders, amount INTEGER NOT NULL CHECK (amount > 0),
        reason TEXT NOT NULL, at TEXT NOT NULL)""",
    """CREATE TABLE appointments (
        id INTEGER PRIMARY KEY, service TEXT NOT NULL, day TEXT NOT NULL, time TEXT NOT NULL, name TEXT NOT NULL,
        phone TEXT NOT NULL, UNIQUE (service, day, time))""",
    "CREATE TABLE requests (key TEXT PRIMARY KEY, call TEXT NOT NULL, result TEXT NOT NULL, at TEXT NOT NULL)",
)


def seed(db: sqlite3.Connection, now: datetime) -> None:
    """Fill the database. The caller holds the transaction."""
    for table in _TABLES:
        db.execute(table)
    today = now.astimezone(SHOP_TIME).date()
    prices: dict[str, int] = {}
    for product in read("catalogue")["products"]:
        prices[product["sku"]] = product["price"] * 100
        back = str(today + timedelta(days=product["restock"])) if "restock" in product else None
        names = (product["en"], product["he"], product["ru"])
        db.execute(
            "INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)",
            (product["sku"], *names, product["price"] * 100, product["stock"], back),
        )
    customers = read("catalogue")["customers"]
    for number, person in enumerate(customers, start=1):
        db.execute(
            "INSERT INTO customers VALUES (?, ?, ?, ?, ?, NULL)",
            (number, person["name"], person["email"], person["phone"], person["address"]),
        )
    for age in range(COUNT):
        _order(db, str(NEWEST - age), age, now, prices)
    _order(db, "99999", 9, now, prices)
    for service, day, at in _list_booked_slots(today):
        visitor = customers[(day.day + at.hour) % len(customers)]
        db.execute(
            "INSERT INTO appointments (service, day, time, name, phone) VALUES (?, ?, ?, ?, ?)",
            (service, str(day), at.strftime("%H:%M"), visitor["name"], visitor["phone"]),
        )
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _order(db: sqlite3.Connection, order_id: str, age: int, now: datetime, prices: dict[str, int]) -> None:
    """The order with `age` newer ones: the first are being prepared, then come those on their way, then the rest."""
    placed = now - timedelta(hours=3 + 6 * age + 0.35 * age * age)
    status = "processing" if age < 8 else "shipped" if age < 15 else "delivered"
    if age % 13 == 12:
        status = "cancelled"
    customer = 1 + (age + 3) % 8 if status in ("processing", "shipped") else 1 + age * 5 % 12
    skus = list(prices)
    basket = {skus[(age * 7 + step * 11) % len(skus)]: 1 + (age + step) % 2 for step in range(1 + age % 3)}
    goods = sum(prices[sku] * quantity for sku, quantity in basket.items())
    total = goods + (0 if goods >= FREE_SHIPPING_FROM else SHIPPING)
    method = ("card", "paypal", "card", "bank_transfer")[age % 4]
    payment, refunded = "paid", 0
    if status == "cancelled" or age % 17 == 16:
        payment, refunded = "refunded", total
    elif status == "processing" and method == "bank_transfer":
        payment = "pending"
    shipped = placed + timedelta(hours=30) if status in ("shipped", "delivered") else None
    delivered = placed + timedelta(days=5) if status == "delivered" else None
    cancelled = placed + timedelta(hours=20) if status == "cancelled" else None
    due = max(placed + timedelta(days=7), now + timedelta(days=1)) if delivered is None else delivered
    address = read("catalogue")["customers"][customer - 1]["address"]
    db.execute(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(order_id, customer, status, payment, method, total, refunded),
            *(stamp(placed), str(due.astimezone(SHOP_TIME).date())),
            *(stamp(moment) if moment else None for moment in (shipped, delivered, cancelled)),
            *(f"KK{order_id}IL" if shipped else None, address, ""),
        ),
    )
    for sku, quantity in basket.items():
        db.execute("INSERT INTO items VALUES (?, ?, ?, ?)", (order_id, sku, quantity, prices[sku]))
    if refunded and status == "delivered":
        db.execute(
            "INSERT INTO refunds (order_id, amount, reason, at) VALUES (?, ?, ?, ?)",
            (order_id, refunded, "returned", stamp(placed + timedelta(days=9))),
        )


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def slots(day: date) -> Iterator[time]:
    """When the workshop sees people on a day: every half hour, not on Saturdays."""
    hours = {4: ("09:30", "12:00"), 5: None}.get(day.weekday(), ("10:00", "17:30"))
    if hours is None:
        return
    moment, last = (datetime.combine(day, time.fromisoformat(hour)) for hour in hours)
    while moment <= last:
        yield moment.time()
        moment += timedelta(minutes=30)


def _list_booked_slots(today: date) -> Iterator[tuple[str, date, time]]:
    """Every fourth slot of the next two weeks, moving on by one each day and with each service."""
    for ahead in range(1, 15):
        day = today + timedelta(days=ahead)
        for shift, service in enumerate(SERVICES):
            for number, at in enumerate(slots(day)):
                if (number + ahead + shift) % 4 == 0:
                    yield service, day, at
