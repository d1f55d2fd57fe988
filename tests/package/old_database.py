#!/usr/bin/env python3
"""old_database.py FILE - a database as the first released version wrote it, with one event, an hour old: 'before the upgrade'. Its tables are the
frozen ones of tests/unit/db/sqlite/test_schema.c; what their blocks hold is read in that test."""
import pathlib, re, sqlite3, sys, time

source = pathlib.Path(__file__).parents[1] / "unit/db/sqlite/test_schema.c"
literal = re.search(r"frozen_1\[\] =\n(.*?);\n\n", source.read_text(), re.S).group(1)
sql = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal)).replace('\\"', '"')
database = sqlite3.connect(sys.argv[1])
database.executescript(sql)
with database:
    database.execute("INSERT INTO event(t_ns, kind, text) VALUES(?, 'note', 'before the upgrade')", ((int(time.time()) - 3600) * 10**9,))
if database.execute("SELECT count(*) FROM event").fetchone() != (1,):
    sys.exit("old_database: the event is not there")
