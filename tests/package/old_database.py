#!/usr/bin/env python3
"""old_database.py FILE - a database as the first released version wrote it: two samples of a port of 'leaf1', an hour old. Its text is
the frozen one of tests/unit/db/sqlite/test_schema.c."""
import pathlib, re, sqlite3, sys, time

source = pathlib.Path(__file__).parents[1] / "unit/db/sqlite/test_schema.c"
literal = re.search(r"frozen_1\[\] =\n(.*?);\n\n", source.read_text(), re.S).group(1)
sql = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal)).replace('\\"', '"')
began = int(time.time()) - 3600
sql = sql.replace("1700000000000000000", "%d000000000" % began).replace("1700000010000000000", "%d000000000" % (began + 10))
database = sqlite3.connect(sys.argv[1])
database.executescript(sql)
if database.execute("SELECT count(*) FROM sample_port").fetchone() != (2,):
    sys.exit("old_database: the frozen text has no two samples")
