"""A database URL in, a SQLAlchemy engine and the threads that may use it out; database errors to ours.

SQLite has one connection and one thread per process: it has one writer anyway, and waiting in our queue is fairer and
cheaper than waiting in its lock. Every transaction begins IMMEDIATE, because one that reads first and writes later
can fail halfway, and ends on the disk, unless `note` says that it may get there with the next one. PostgreSQL has a
few threads with a connection each. No message ever shows the URL: it may hold a password, and a badly written one may
hold it anywhere.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from circumspect.errors import ConfigError, StoreError, StoreNotLasting
from circumspect.private_files import close_to_others, database_files, make_database_file, make_folder
from circumspect.stores import bounds
from circumspect.stores.codec import dumps, loads
from circumspect.stores.lasting_files import MIN_FREE_BYTES, LastingFiles
from circumspect.stores.statements import is_synced_later
from circumspect.stores.worker_threads import Threads

SQLITE_NEEDED = (3, 35)  # RETURNING
POSTGRES_THREADS = 8
CONNECT_SECONDS = 10
SCRUB_SECONDS = 0.5
HELD_SECONDS = 0.2
"""How long a lock is waited for that somebody has waited for in vain."""

P = ParamSpec("P")
T = TypeVar("T")


class Transactions(Protocol):
    """Whoever runs a body as one transaction: `SqlStore`, or a database in this very thread."""

    async def tx(self, body: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T: ...


class Database:
    """An engine, the threads that may use it, and a name for it that is safe to show."""

    def __init__(
        self,
        engine: sa.Engine,
        threads: int,
        name: str,
        files: LastingFiles | None = None,
        lock_seconds: float = bounds.LOCK_SECONDS,
        begin: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        """`begin` begins a transaction of the one connection that an SQLite database has."""
        self.engine = engine
        self.name = name
        self.files = files
        self._lock_seconds = lock_seconds
        self.threads = Threads(threads)
        self._single = threads == 1
        self._kept: tuple[sa.Connection, sqlite3.Connection] | None = None
        """SQLAlchemy's connection, and the driver's in it."""
        self._is_held = False
        self._begin = begin or _begin_immediately

    def transaction(self, body: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `body(connection, ...)` returns, committed; rolled back when it raises. In one of the threads only."""
        try:
            if self._single:
                if self._kept is None:
                    self._kept = self._open()
                elif self.files:
                    self.files.require_same()
                connection, driver = self._kept
                return self._write(connection, driver, body, *args, **kwargs)
            with self.engine.begin() as connection:
                return body(connection, *args, **kwargs)
        except Exception as error:
            if ours := explain_error(error, self.name):
                raise ours from error
            raise

    def _write(
        self,
        connection: sa.Connection,
        driver: sqlite3.Connection,
        body: Callable[Concatenate[sa.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Who waited for the lock in vain has waited for all: until it is had again, others are soon told."""
        later = is_synced_later(body)
        if later:
            _set_sync(driver, "NORMAL")
        try:
            # Begun and ended by the driver, since SQLAlchemy takes longer over it than SQLite over a turn's statements.
            # It joins in where a body runs statements of its kind.
            self._begin(driver)
            try:
                if self._is_held:
                    bounds.wait_for_lock(driver, self._lock_seconds)
                    self._is_held = False
                result = body(connection, *args, **kwargs)
                _end(connection, driver.commit)
            except BaseException:
                _end(connection, driver.rollback)
                raise
            return result
        except (sa.exc.OperationalError, sqlite3.OperationalError) as error:
            if not self._is_held and "locked" in str(error):
                bounds.wait_for_lock(driver, min(HELD_SECONDS, self._lock_seconds))
                self._is_held = True
            if self.files and _FULL in str(error):
                self.files.note_full()
            raise
        finally:
            if later:
                _set_sync(driver, _SYNC)

    def _open(self) -> tuple[sa.Connection, sqlite3.Connection]:
        connection = self.engine.connect()
        if self.files:
            with connection.begin():  # only then is the log of changes there
                self.files.note(connection)
        driver: Any = connection.connection.driver_connection
        return connection, driver

    def scrub(self) -> bool:
        """Empty SQLite's log of changes, in which a deleted text stands until then. False while somebody else reads.
        Elsewhere it is the database's own business."""
        if self.engine.dialect.name != "sqlite" or self._kept is None:
            return True
        _, driver = self._kept
        try:
            # Whoever reads for long must not keep all others from writing: the next time will do.
            bounds.wait_for_lock(driver, SCRUB_SECONDS)
            ((busy, _, _),) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return not busy
        except Exception as error:
            if ours := explain_error(error, self.name):
                raise ours from error
            raise
        finally:
            bounds.wait_for_lock(driver, self._lock_seconds)

    def close_files_to_others(self) -> None:
        """What was made when files were not private yet. A database that is no file has nothing to close."""
        path = self.engine.url.database or ""
        if self.engine.dialect.name == "sqlite" and path not in ("", ":memory:") and not path.startswith("file:"):
            close_to_others(database_files(Path(path)))

    def close(self) -> None:
        self.threads.close()
        if self._kept is not None:
            self._kept[0].close()
            self._kept = None
        self.engine.dispose()
        if self.files:
            self.files.close()


def connect(url: str, min_free_bytes: int = MIN_FREE_BYTES, lock_seconds: float = bounds.LOCK_SECONDS) -> Database:
    """Nothing is opened yet; the first transaction does that."""
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed, min_free_bytes, lock_seconds)
    return _postgres(parsed, lock_seconds)


def parse_url(url: str) -> sa.URL:
    if "://" not in url:
        return sa.URL.create("sqlite", database=url)
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        # Not chained: the parser's own message quotes pieces of the URL.
        raise ConfigError("The database URL cannot be read.", fix=_URL_HELP) from None
    if "@" in (parsed.host or ""):
        raise ConfigError("The database URL has more than one '@' before the host.", fix=_URL_HELP)
    scheme = parsed.drivername.partition("+")[0]
    if scheme == "sqlite":
        if parsed.host:
            raise ConfigError("The URL of a SQLite database needs three slashes before its path.", fix=_URL_HELP)
        return parsed.set(drivername="sqlite")
    if scheme in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise ConfigError(f"Databases of the kind '{scheme}' are not supported.", fix=_URL_HELP)


_URL_HELP = (
    "Write sqlite:///path/to/file.db or postgresql://user:password@host:5432/name, "
    "with special characters in the password percent-encoded (@ is %40, / is %2F, : is %3A)."
)


def _sqlite(url: sa.URL, min_free_bytes: int, lock_seconds: float) -> Database:
    if sqlite3.sqlite_version_info < SQLITE_NEEDED:
        raise StoreError(
            f"This Python has SQLite {sqlite3.sqlite_version}, and 3.35 or newer is needed.",
            fix="Use a newer Python build, or PostgreSQL.",
        )
    path = url.database or ":memory:"
    memory = path == ":memory:"
    if not memory and not path.startswith("file:"):
        try:
            make_folder(Path(path).parent)
        except OSError as error:
            raise StoreError(
                f"The folder of the database {path} cannot be made: {error.strerror}.",
                fix="Choose a path in a folder that you may write to.",
            ) from error
        make_database_file(Path(path))
    engine = sa.create_engine(
        url,
        poolclass=StaticPool,
        connect_args={"check_same_thread": False},
        json_serializer=dumps,
        json_deserializer=loads,
        hide_parameters=True,
    )
    start_time = bounds.bound_sqlite(engine, lock_seconds)

    def begin(driver: sqlite3.Connection) -> None:
        start_time()
        _begin_immediately(driver)

    def join(connection: sa.Connection) -> None:
        driver: Any = connection.connection.driver_connection
        _begin_immediately(driver)

    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", join)
    files = None if memory or path.startswith("file:") else LastingFiles(Path(path), min_free_bytes)
    return Database(engine, 1, "in memory" if memory else path, files, lock_seconds, begin)


_SYNC = "FULL"
"""Each transaction is on the disk before anybody hears that it is done."""


def _set_sync(connection: sqlite3.Connection, level: str) -> None:
    """A script, since SQLite obeys this pragma while it compiles it: out of the driver's cache it would do nothing."""
    connection.executescript(f"PRAGMA synchronous = {level}")


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    _keep_log_of_changes(connection)
    for pragma in (
        f"synchronous = {_SYNC}",
        "foreign_keys = ON",
        "secure_delete = ON",  # what is deleted is overwritten
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _keep_log_of_changes(connection: sqlite3.Connection) -> None:
    """Of two that open a new file at the same moment SQLite refuses one at once, whatever its patience."""
    end = time.monotonic() + bounds.SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _begin_immediately(driver: sqlite3.Connection) -> None:
    if not driver.in_transaction:
        driver.execute("BEGIN IMMEDIATE")


def _end(connection: sa.Connection, end: Callable[[], None]) -> None:
    """By the driver; and SQLAlchemy, where it had joined in, is told that it is over."""
    try:
        end()
    finally:
        if connection.in_transaction():
            connection.rollback()


def _postgres(url: sa.URL, lock_seconds: float) -> Database:
    name = f"{url.database or ''} on {url.host or url.query.get('host') or 'this machine'}"
    try:
        engine = sa.create_engine(
            url,
            pool_size=POSTGRES_THREADS,
            max_overflow=0,
            pool_pre_ping=True,
            pool_use_lifo=True,  # the connection that was used last has its statements prepared
            # The claims count on seeing what others committed while they waited for a row.
            isolation_level="READ COMMITTED",
            connect_args={} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_SECONDS},
            json_serializer=dumps,
            json_deserializer=loads,
            hide_parameters=True,
        )
    except ModuleNotFoundError as error:
        raise ConfigError(
            "The PostgreSQL driver is not installed.", fix="pip install 'circumspect[postgres]'"
        ) from error
    bounds.bound_postgres(engine, lock_seconds)
    return Database(engine, POSTGRES_THREADS, name)


# --- errors ---------------------------------------------------------------------------------------------------------


def explain_error(error: Exception, name: str) -> StoreError | None:
    """What the database said, with something to do about it; None when it was not the database that spoke."""
    match error:
        case sa.exc.DBAPIError():
            return _explain_driver_error(error.orig or error, name)
        case sa.exc.SQLAlchemyError():
            return StoreError(f"The database {name} could not be used.", fix="Try again.")
        case UnicodeEncodeError() | OverflowError():
            return StoreError(
                "A value cannot be stored.", fix="Use ids and keys without lone surrogates, and numbers of 64 bits."
            )
    # From statements that go to the driver directly; psycopg is known by name, since it may not be installed.
    if isinstance(error, sqlite3.Error) or type(error).__module__.startswith("psycopg"):
        return _explain_driver_error(error, name)
    return None


def _explain_driver_error(error: BaseException, name: str) -> StoreError:
    problem = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
    if isinstance(error, sqlite3.Error):
        for sign, (what, fix) in _SQLITE.items():
            if sign in problem:
                kind = StoreNotLasting if sign == _FULL else StoreError
                return kind(f"The database {name} {what}.", fix=fix)
    else:
        # psycopg has no SQLSTATE for what went wrong while connecting.
        state = getattr(error, "sqlstate", None) or ("3D" if problem.endswith("does not exist") else "08")
        for sign, (what, fix) in _POSTGRES.items():
            if state.startswith(sign):
                return StoreError(f"The database {name} {what}: {problem}.", fix=fix)
    return StoreError(f"The database {name} refused: {problem}.", fix="Try again; if it stays, report it.")


_FULL = "full"
_UNLOCK = "End what holds it, and try again. A server waits for CIRCUMSPECT_LOCK_SECONDS."
_REACH = "Check that the server runs, and the host, port, user and password in the database URL."
_POSTGRES = {
    "08": ("cannot be reached", _REACH),
    "28": ("does not let this user in", _REACH),
    "3D": ("does not exist", "Create it with `createdb`, or correct its name in the database URL."),
    "40": ("was busy with the same rows", "Try again."),
    "42501": ("does not permit this", "Grant the user CREATE on the schema, and read and write on its tables."),
    "25006": ("is read-only", "Connect to the primary server."),
    "53": ("has no room for this", "Free disk space, or allow more connections."),
    "55P03": ("was held by another process for too long", _UNLOCK),
    "57014": ("did not answer in time", "Try again when it has less to do, or fewer locks."),
    "57": ("is shutting down or starting up", "Try again in a moment."),
}
_SQLITE = {
    "readonly": ("is read-only", "Make the file and its folder writable, or choose another path."),
    "not a database": ("is not a SQLite database", "Choose another path, or move the file away."),
    "unable to open": ("cannot be opened", "Check that the path is a file in a folder that you may write to."),
    _FULL: ("has no room left on its disk", "Free some space; nothing was written halfway."),
    "locked": ("was held by another process for too long", _UNLOCK),
    "interrupted": ("did not answer in time", "Try again when it has less to do."),
    "malformed": ("is damaged", "Restore a backup, or recover it with `sqlite3 FILE .recover`."),
    "disk I/O": ("cannot be read or written on its disk", "Check the disk; use a local one, not a network share."),
}
