"""`circumspect db upgrade`."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace

from circumspect.stores import schema_history


def test_a_new_database_is_made_with_its_folder_and_a_second_upgrade_changes_nothing(run, folder):
    for _ in range(2):
        ran = run("db", "upgrade", "--database", "sqlite:///some/where/new.db")
        assert (ran.code, ran.out, ran.err) == (0, "The database is up to date.\n", "")
    with sqlite3.connect(folder / "some" / "where" / "new.db") as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert {"conversations", "messages", "tool_executions", "intents", "usage"} <= tables


def test_what_is_in_the_database_is_still_there_after_an_upgrade(run, folder):
    run("chat", "--conversation", "c1", stdin="cancel order 12345\n")
    run("db", "upgrade")
    assert run("chat", "--conversation", "c1", "--json", stdin="yes\n").turns[0]["outcome"] == "acted"


def test_without_an_option_the_environment_names_the_database(run, folder, monkeypatch):
    monkeypatch.setenv("CIRCUMSPECT_DATABASE", "sqlite:///by-name.db")
    assert run("db", "upgrade").code == 0
    assert (folder / "by-name.db").exists()


def test_a_database_that_cannot_be_had_is_told_without_its_password(run, folder):
    for url, word in {
        "mysql://u:hunter2@host/db": "not supported",
        "postgresql://u:hunter2@127.0.0.1:1/db?connect_timeout=2": "cannot be reached",
        "postgresql://u:hunter2@host:port/db": "cannot be read",
        "sqlite:////": "cannot be opened",
    }.items():
        ran = run("db", "upgrade", "--database", url)
        ran.refused(word)
        assert "hunter2" not in ran.err
        assert ran.out == ""


def test_a_file_where_a_folder_should_be_is_told(run, folder):
    (folder / "file").write_text("")
    run("db", "upgrade", "--database", "sqlite:///file/new.db").refused("cannot be made", "folder")


def test_a_copy_made_by_sqlite_itself_is_a_backup(run, folder):
    """As the operators' guide says."""
    run("chat", "--conversation", "c1", stdin="cancel order 12345\n")
    live, copy = sqlite3.connect(".circumspect/circumspect.db"), sqlite3.connect("backup.db")
    with live, copy:
        live.backup(copy)
    live.close()
    copy.close()
    shutil.copytree(".circumspect", "restored")
    shutil.copy("backup.db", "restored/circumspect.db")
    for leftover in ("restored/circumspect.db-wal", "restored/circumspect.db-shm"):
        (folder / leftover).unlink(missing_ok=True)
    ran = run(
        "chat", "--database", "sqlite:///restored/circumspect.db", "--conversation", "c1", "--json", stdin="yes\n"
    )
    assert ran.turns[0]["outcome"] == "acted"


def test_after_a_restore_what_was_left_open_is_held_and_said(run, folder):
    run("chat", "--conversation", "c1", stdin="cancel order 12345\n")
    assert run("db", "restored", stdin="n\n").code != 0
    ran = run("db", "restored", "--yes")
    assert ran.code == 0, ran.err
    assert "0 calls are unknown" in ran.out
    assert "1 questions are put again" in ran.out
    turn = run("chat", "--conversation", "c1", "--json", stdin="yes\n").turns[0]
    assert turn["outcome"] == "asked", "the yes was to a question of the backup"


def test_a_backup_is_taken_seen_whole_and_restored(run, folder):
    run("chat", "--conversation", "c1", stdin="cancel order 12345\n")
    ran = run("backup", "saved")
    assert ran.code == 0, ran.err
    assert "schema" in ran.out
    run("backup", "saved").refused("there already", "another")
    assert "is whole" in run("restore", "saved", "--check").out
    run("restore", "saved").refused("there already", "--replace")
    ran = run("restore", "saved", "--database", "sqlite:///again/shop.db")
    assert ran.code == 0, ran.err
    assert "1 questions are put again" in ran.out
    assert "secret key" in ran.out
    restored = ("--database", "sqlite:///again/shop.db")
    turn = run("chat", *restored, "--conversation", "c1", "--json", stdin="yes\n").turns[0]
    assert turn["outcome"] == "asked", "the yes was to a question of the backup"
    ran = run("restore", "saved", "--replace", "--json")
    assert json.loads(ran.out)["held"]["questions"] == 1
    assert Path(json.loads(ran.out)["kept"]).is_file()


def test_a_backup_that_was_changed_is_not_restored(run, folder):
    run("backup", "saved")
    with (folder / "saved" / "circumspect.db").open("ab") as file:
        file.write(b"x")
    run("restore", "saved", "--database", "sqlite:///new.db").refused("hash differs")
    assert not (folder / "new.db").exists()
    run("restore", ".", "--check").refused("not a backup")


STANDS = [("0999", 0, "only adds"), ("1000", 1, "upgrade Circumspect"), ("0001", 1, "first release")]


def test_where_the_schema_stands_is_said_without_changing_it(run, folder):
    assert run("db", "status").code == 0
    ran = run("db", "status", "--database", "sqlite:///none.db")
    assert (ran.code, "db upgrade" in ran.out) == (1, True)
    assert not (folder / "none.db").exists()
    for version, code, word in STANDS:
        with sqlite3.connect(".circumspect/circumspect.db") as file:
            file.execute("UPDATE alembic_version SET version_num = ?", [version])
        file.close()
        ran = run("db", "status", "--json")
        assert (ran.code, json.loads(ran.out)["schema"], word in ran.out) == (code, version, True)
    run("chat", stdin="hello\n").refused("first release")


def test_a_schema_is_taken_back_by_its_revisions_or_not_at_all(run, folder, monkeypatch):
    first = schema_history.list_revisions()[-1]
    number = first[:4]
    run("db", "downgrade", "0001", "--yes").refused("no revision", number)
    assert "already" in run("db", "downgrade", number, "--yes").out
    assert run("db", "downgrade", number, stdin="n\n").code != 0

    def undo(connection):
        connection.exec_driver_sql("ALTER TABLE plans DROP COLUMN colour")

    later = {"0997_colour": SimpleNamespace(downgrade=undo), "0998_lossy": SimpleNamespace()}
    monkeypatch.setattr(schema_history, "list_revisions", lambda: (first, *later))
    monkeypatch.setattr(schema_history, "import_revision", later.__getitem__)
    with sqlite3.connect(".circumspect/circumspect.db") as file:
        file.execute("ALTER TABLE plans ADD COLUMN colour TEXT")
        file.execute("UPDATE alembic_version SET version_num = '0998'")
    run("db", "downgrade", number, "--yes").refused("0998 cannot be taken back", "circumspect restore")
    with file:
        assert file.execute("SELECT version_num FROM alembic_version").fetchone() == ("0998",)
        file.execute("UPDATE alembic_version SET version_num = '0997'")
    assert "0997" in run("db", "downgrade", number, "--yes").out
    assert file.execute("SELECT version_num FROM alembic_version").fetchone() == (number,)
    assert "colour" not in {row[1] for row in file.execute("PRAGMA table_info(plans)")}
    file.close()
