"""A bank on SQLite in WAL mode: the workload behind sqlite-bank.iolog.zst.

    python bank.py FOLDER [--accounts N] [--transfers N] [--seed N]

The bank opens its accounts in one batch, then books transfers, each a transaction of its own that is durable before
the next begins (``synchronous=FULL``: SQLite writes the changed pages to the write-ahead log and calls fdatasync).
Some customers are busier than others. Between transfers customers ask for statements, and every so often the bank
balances its books, which reads every account. SQLite moves the log into the database every 1000 pages
(``wal_autocheckpoint``), and once more at the end of each day.
"""

import argparse
import random
import sqlite3
from pathlib import Path

SCHEMA = """
CREATE TABLE account (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    balance_cents INTEGER NOT NULL CHECK (balance_cents >= 0),
    note TEXT NOT NULL
);
CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    payer INTEGER NOT NULL REFERENCES account (id),
    payee INTEGER NOT NULL REFERENCES account (id),
    cents INTEGER NOT NULL,
    day INTEGER NOT NULL
);
CREATE INDEX history_payer ON history (payer, day);
CREATE INDEX history_payee ON history (payee, day);
"""
OPENING_CENTS = 100_000
TRANSFERS_A_DAY = 1_000


def connect(path: Path) -> sqlite3.Connection:
    """Open the database in WAL mode, with durable commits and a small cache."""
    bank = sqlite3.connect(path, isolation_level=None)
    bank.execute("PRAGMA page_size = 4096")
    bank.execute("PRAGMA journal_mode = WAL")
    bank.execute("PRAGMA synchronous = FULL")
    bank.execute("PRAGMA wal_autocheckpoint = 1000")
    bank.execute("PRAGMA cache_size = -512")  # KiB
    bank.execute("PRAGMA mmap_size = 0")  # mapped reads could not be captured
    return bank


def open_accounts(bank: sqlite3.Connection, count: int, rng: random.Random) -> None:
    """Open the accounts, in one transaction."""
    bank.execute("BEGIN")
    bank.executemany(
        "INSERT INTO account VALUES (?, ?, ?, ?)",
        ((number, f"customer {number}", OPENING_CENTS, "-" * rng.randrange(40, 160)) for number in range(count)),
    )
    bank.execute("COMMIT")


def customer(count: int, rng: random.Random) -> int:
    """Draw a customer: the busiest tenth takes part in about half of all transfers."""
    # A multiplier coprime to any smaller count scatters the busy accounts over the table.
    return int(count * rng.random() ** 3.3) * 1_000_003 % count


def transfer(bank: sqlite3.Connection, payer: int, payee: int, cents: int, day: int) -> None:
    """Book one transfer, limited by the payer's balance."""
    bank.execute("BEGIN IMMEDIATE")
    (balance,) = bank.execute("SELECT balance_cents FROM account WHERE id = ?", (payer,)).fetchone()
    cents = min(cents, balance)
    bank.execute("UPDATE account SET balance_cents = balance_cents - ? WHERE id = ?", (cents, payer))
    bank.execute("UPDATE account SET balance_cents = balance_cents + ? WHERE id = ?", (cents, payee))
    bank.execute("INSERT INTO history (payer, payee, cents, day) VALUES (?, ?, ?, ?)", (payer, payee, cents, day))
    bank.execute("COMMIT")


def statement(bank: sqlite3.Connection, number: int) -> int:
    """Read the last transfers of a customer; return their number."""
    rows = bank.execute(
        "SELECT id, cents FROM history WHERE payer = ? UNION ALL SELECT id, cents FROM history WHERE payee = ?"
        " ORDER BY id DESC LIMIT 20",
        (number, number),
    ).fetchall()
    return len(rows)


def balance_the_books(bank: sqlite3.Connection, accounts: int) -> None:
    """Read every account and check that transfers preserve the total."""
    (total,) = bank.execute("SELECT sum(balance_cents) FROM account").fetchone()
    if total != accounts * OPENING_CENTS:
        raise SystemExit(f"the books do not balance: {total} instead of {accounts * OPENING_CENTS} cents")


def run(folder: Path, accounts: int, transfers: int, seed: int) -> None:
    """Run the bank in `folder`, on a new database."""
    rng = random.Random(seed)
    path = folder / "bank.db"
    if path.exists():
        raise SystemExit(f"{path}: exists already")
    bank = connect(path)
    bank.executescript(SCHEMA)
    open_accounts(bank, accounts, rng)
    for number in range(transfers):
        day = number // TRANSFERS_A_DAY
        payer, payee = customer(accounts, rng), customer(accounts, rng)
        transfer(bank, payer, payee, rng.randrange(100, 20_000), day)
        if rng.random() < 0.5:
            statement(bank, customer(accounts, rng))
        if (number + 1) % TRANSFERS_A_DAY == 0:
            balance_the_books(bank, accounts)
            bank.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    balance_the_books(bank, accounts)
    bank.close()


def main() -> None:
    """Read the command line and run the bank."""
    parser = argparse.ArgumentParser(description="A bank on SQLite in WAL mode.")
    parser.add_argument("folder", type=Path, help="folder for the new database; must exist")
    parser.add_argument("--accounts", type=int, default=60_000)
    parser.add_argument("--transfers", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    run(given.folder, given.accounts, given.transfers, given.seed)


if __name__ == "__main__":
    main()
