"""backend: the sample shop's own system, an SQLite database with a few rules of business.

It stands for what a real tenant has behind its tools. It speaks no language: results are facts, and a no is a `Refused`
with a code. Every change takes an idempotency key and keeps it, with the result, in the transaction of the change
itself, so a call that is repeated with its key gives the same answer and happens once, whoever repeats it.
The database is made and filled on first use. Its clock starts at the moment it was given and runs on from there.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time as timer
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from circumspect.demo.samples.seeding import SCHEMA_VERSION, SHOP_TIME, seed, slots, stamp
from circumspect.demo.samples.shop_messages import LANGUAGES_SPOKEN
from circumspect.errors import ConfigError
from circumspect.private_files import make_database_file, make_folder
from circumspect.values import Json

REFUND_WINDOW = timedelta(days=30)
BOOKABLE = timedelta(days=60)
IN_MEMORY = ":memory:"


class Refused(Exception):
    """The shop says no, and nothing has changed. The code names a sentence in `data/messages.yaml`."""

    def __init__(self, code: str, **facts: Any) -> None:
        super().__init__(code)
        self.code = code
        self.facts = facts


@dataclass(frozen=True, slots=True)
class Product:
    sku: str
    names: dict[str, str]
    price: int
    stock: int
    restock_on: date | None


@dataclass(frozen=True, slots=True)
class ShopOrder:
    id: str
    status: str
    payment: str
    total: int
    refunded: int
    placed_on: date
    due_on: date
    delivered_on: date | None
    cancelled_on: date | None
    tracking: str | None
    items: tuple[tuple[Product, int], ...]


class Backend:
    """The shop. Safe to share between threads; several processes may open the same file."""

    def __init__(self, path: Path | str = IN_MEMORY, *, now: datetime) -> None:
        if now.tzinfo is None:
            raise ConfigError("The sample shop needs a moment with a time zone.", fix="Pass datetime.now(UTC).")
        self._path = path
        self._start = now
        self._started = timer.monotonic()
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def now(self) -> datetime:
        return self._start + timedelta(seconds=timer.monotonic() - self._started)

    def today(self) -> date:
        return self.now().astimezone(SHOP_TIME).date()

    # --- looking ----------------------------------------------------------------------------------------------------

    def order(self, order_id: str) -> ShopOrder:
        with self._reading() as db:
            return _order(db, order_id)

    def orders_of(self, email: str) -> tuple[ShopOrder, ...]:
        """Newest first."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT orders.id FROM orders JOIN customers ON customers.id = customer WHERE email = ?"
                " ORDER BY placed_at DESC",
                (email.strip().lower(),),
            ).fetchall()
            return tuple(_order(db, row["id"]) for row in rows)

    def products(self) -> tuple[Product, ...]:
        with self._reading() as db:
            return tuple(_product(row) for row in db.execute("SELECT * FROM products ORDER BY sku"))

    def free_slots(self, day: date, service: str) -> tuple[time, ...]:
        with self._reading() as db:
            return self._free(db, day, service)

    # --- changing ---------------------------------------------------------------------------------------------------

    def cancel_order(self, order_id: str, reason: str, key: str) -> dict[str, Json]:
        def change(db: sqlite3.Connection) -> dict[str, Json]:
            order = _order(db, order_id)
            if order.status != "processing":
                raise Refused(f"cancel_{order.status}", order_id=order_id)
            paid = order.payment == "paid"
            back = order.total if paid else 0
            db.execute(
                "UPDATE orders SET status = 'cancelled', payment = ?, refunded = ?, cancelled_at = ?, reason = ?"
                " WHERE id = ?",
                ("refunded" if paid else "void", back, stamp(self.now()), reason, order_id),
            )
            for product, quantity in order.items:
                db.execute("UPDATE products SET stock = stock + ? WHERE sku = ?", (quantity, product.sku))
            return {"order_id": order_id, "status": "cancelled", "refunded": back / 100, "currency": "ILS"}

        return self._once(key, ["cancel_order", order_id, reason], change)

    def refund(self, order_id: str, amount: int | None, reason: str, key: str) -> dict[str, Json]:
        """Pay back `amount` (in agorot), or all that is left of what was paid."""

        def change(db: sqlite3.Connection) -> dict[str, Json]:
            order = _order(db, order_id)
            if order.status != "delivered" or order.delivered_on is None:
                raise Refused(f"refund_{order.status}", order_id=order_id)
            left = order.total - order.refunded
            if left == 0:
                raise Refused("refund_done", order_id=order_id)
            if self.today() - order.delivered_on > REFUND_WINDOW:
                raise Refused("refund_late", order_id=order_id, date=order.delivered_on)
            paid_back = left if amount is None else amount
            if not 0 < paid_back <= left:
                raise Refused("refund_too_much", order_id=order_id, amount=left)
            db.execute(
                "INSERT INTO refunds (order_id, amount, reason, at) VALUES (?, ?, ?, ?)",
                (order_id, paid_back, reason, stamp(self.now())),
            )
            payment = "refunded" if paid_back == left else "partly_refunded"
            db.execute(
                "UPDATE orders SET payment = ?, refunded = refunded + ? WHERE id = ?", (payment, paid_back, order_id)
            )
            return {
                "order_id": order_id,
                "payment": payment,
                "refunded": paid_back / 100,
                "remaining": (left - paid_back) / 100,
                "currency": "ILS",
            }

        return self._once(key, ["refund", order_id, amount, reason], change)

    def update_address(self, order_id: str, address: str, key: str) -> dict[str, Json]:
        def change(db: sqlite3.Connection) -> dict[str, Json]:
            order = _order(db, order_id)
            if order.status != "processing":
                raise Refused(f"address_{order.status}", order_id=order_id)
            db.execute("UPDATE orders SET address = ? WHERE id = ?", (address, order_id))
            return {"order_id": order_id, "address": address}

        return self._once(key, ["update_address", order_id, address], change)

    def book_appointment(self, day: date, at: time, service: str, name: str, phone: str, key: str) -> dict[str, Json]:
        hour = at.strftime("%H:%M")

        def change(db: sqlite3.Connection) -> dict[str, Json]:
            if datetime.combine(day, at, SHOP_TIME) <= self.now():
                raise Refused("slot_past", date=day, time=hour)
            if day - self.today() > BOOKABLE:
                raise Refused("slot_far")
            if at not in slots(day):
                raise Refused("slot_closed", date=day, time=hour)
            free = self._free(db, day, service)
            if at not in free:
                raise Refused("slot_taken", date=day, time=hour, times=free)
            number = db.execute(
                "INSERT INTO appointments (service, day, time, name, phone) VALUES (?, ?, ?, ?, ?)",
                (service, str(day), hour, name, phone),
            ).lastrowid
            return {"appointment_id": f"A{number:04}", "service": service, "date": str(day), "time": hour}

        return self._once(key, ["book_appointment", str(day), hour, service, name, phone], change)

    def delete_account(self, email: str, key: str) -> dict[str, Json]:
        """Forget the person. Their orders stay, without a name, because invoices have to."""
        email = email.strip().lower()

        def change(db: sqlite3.Connection) -> dict[str, Json]:
            row = db.execute("SELECT id FROM customers WHERE email = ?", (email,)).fetchone()
            if row is None:
                raise Refused("account_unknown", email=email)
            rows = db.execute(
                "SELECT id FROM orders WHERE customer = ? AND status IN ('processing', 'shipped') ORDER BY id",
                (row["id"],),
            ).fetchall()
            if rows:
                raise Refused("account_open_orders", email=email, orders=tuple(order["id"] for order in rows))
            db.execute(
                "UPDATE customers SET name = NULL, email = NULL, phone = NULL, address = NULL, deleted_at = ?"
                " WHERE id = ?",
                (stamp(self.now()), row["id"]),
            )
            db.execute("UPDATE orders SET address = NULL WHERE customer = ?", (row["id"],))
            return {"email": email, "deleted": True}

        return self._once(key, ["delete_account", email], change)

    # --- the database -----------------------------------------------------------------------------------------------

    def _free(self, db: sqlite3.Connection, day: date, service: str) -> tuple[time, ...]:
        rows = db.execute("SELECT time FROM appointments WHERE service = ? AND day = ?", (service, str(day)))
        taken = {row["time"] for row in rows}
        now = self.now()
        if day - self.today() > BOOKABLE:
            return ()
        return tuple(
            at for at in slots(day) if at.strftime("%H:%M") not in taken and datetime.combine(day, at, SHOP_TIME) > now
        )

    def _once(
        self, key: str, call: list[Json], change: Callable[[sqlite3.Connection], dict[str, Json]]
    ) -> dict[str, Json]:
        """Make the change and remember its key, or find the key and repeat what was answered then."""
        wanted = json.dumps(call)
        with self._writing() as db:
            row = db.execute("SELECT call, result FROM requests WHERE key = ?", (key,)).fetchone()
            if row is not None:
                if row["call"] != wanted:
                    raise Refused("key_reused")
                answered: dict[str, Json] = json.loads(row["result"])
                return answered
            result = change(db)
            db.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", (key, wanted, json.dumps(result), stamp(self.now())))
            return result

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _transaction(self._connection(), "DEFERRED") as db:
            yield db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _transaction(self._connection(), "IMMEDIATE") as db:
            yield db

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            if self._path != IN_MEMORY:
                make_folder(Path(self._path).parent)
                make_database_file(Path(self._path))
            db = sqlite3.connect(self._path, timeout=5, isolation_level=None, check_same_thread=False)
            try:
                db.row_factory = sqlite3.Row
                db.execute("PRAGMA foreign_keys = ON")
                self._prepare(db)
            except BaseException:
                db.close()
                raise
            weakref.finalize(self, db.close)
            self._db = db
        return self._db

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Of several processes that start at once, one fills the database and the others wait for it."""
        if _version(db) == 0:
            with _transaction(db, "IMMEDIATE"):
                if _version(db) == 0:
                    seed(db, self._start)
        if _version(db) != SCHEMA_VERSION:
            raise ConfigError(f"The sample database {self._path} was made by another version.", fix="Delete the file.")


@contextmanager
def _transaction(db: sqlite3.Connection, kind: str) -> Iterator[sqlite3.Connection]:
    db.execute(f"BEGIN {kind}")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _order(db: sqlite3.Connection, order_id: str) -> ShopOrder:
    row = db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
    if row is None:
        raise Refused("order_unknown", order_id=order_id)
    items = db.execute(
        "SELECT products.*, quantity FROM items JOIN products USING (sku) WHERE order_id = ? ORDER BY sku", (order_id,)
    ).fetchall()
    return ShopOrder(
        id=row["id"],
        status=row["status"],
        payment=row["payment"],
        total=row["total"],
        refunded=row["refunded"],
        placed_on=_day(row["placed_at"]),
        due_on=date.fromisoformat(row["due_on"]),
        delivered_on=_day(row["delivered_at"]) if row["delivered_at"] else None,
        cancelled_on=_day(row["cancelled_at"]) if row["cancelled_at"] else None,
        tracking=row["tracking"],
        items=tuple((_product(item), item["quantity"]) for item in items),
    )


def _product(row: sqlite3.Row) -> Product:
    return Product(
        sku=row["sku"],
        names={language: row[language] for language in LANGUAGES_SPOKEN},
        price=row["price"],
        stock=row["stock"],
        restock_on=date.fromisoformat(row["restock_on"]) if row["restock_on"] else None,
    )


def _day(text: str) -> date:
    return datetime.fromisoformat(text).astimezone(SHOP_TIME).date()
