#!/bin/sh
# Captures the memory trace in this folder: SQLite builds a table of orders in memory, indexes it, joins and sorts it. Only lines
# that a 32 KiB first-level cache fills or writes back are kept; `nandram run` simulates its own caches below that.
# Needs sqlite3 and the requirements of `nandram capture memory`. Another sqlite3 version yields another trace.
set -eu
cd "$(dirname "$0")"
nandram capture memory --l1 32KiB:8 --l2 none --llc none --records "${RECORDS:-200000}" -o sqlite.memory.zst -- sqlite3 :memory: "
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO orders SELECT i, (i * 7919) % 4001, (i * 104729) % 99991, printf('order %d of customer %d', i, (i * 7919) % 4001) FROM n;
CREATE INDEX by_customer ON orders (customer);
SELECT count(*), sum(a.cents) FROM orders AS a JOIN orders AS b ON a.customer = b.customer AND a.id < b.id;
SELECT note FROM orders ORDER BY cents DESC LIMIT 3;
"
