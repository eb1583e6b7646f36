"""`circumspect db upgrade`."""

from __future__ import annotations

import shutil
import sqlite3


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
