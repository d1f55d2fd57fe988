#!/usr/bin/env python3
"""clickhouse_embedded.py --config-file=FILE - today's ClickHouse for the tests of shipping, where the archive has an old one or none.

The engine that `pip install chdb` brings has no server: this answers over HTTP what the tests ask, from <http_port>, <path> and the password of
users.xml beside FILE. RW_CLICKHOUSE_SERVER=PATH/clickhouse_embedded.py ctest -R '^unit.(ship|judge_engine)$' runs them against it."""
import base64
import gzip
import os
import re
import sys
import tempfile
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chdb import session

CONFIG = sys.argv[1].split("=", 1)[1]


def setting(path, name):
    with open(path, encoding="utf-8") as f:
        return re.search("<%s>([^<]*)" % name, f.read()).group(1)


PASSWORD = setting(os.path.join(os.path.dirname(CONFIG), "users.xml"), "password")
ENGINE = session.Session(setting(CONFIG, "path"))
ONE_AT_A_TIME = threading.Lock()


def run(database, query, body):
    """`query` is of the address: then `body` is rows. Without it `body` is the query."""
    ENGINE.query("USE `%s`" % database)
    sql, form = re.match(r"(?is)(.*?)(?:\s+FORMAT\s+(\w+))?\s*$", query or body.decode()).groups()
    if not query:
        return ENGINE.query(sql, form or "TabSeparated").bytes() or b""
    with tempfile.NamedTemporaryFile() as rows:
        rows.write(body)
        rows.flush()
        ENGINE.query("%s FROM INFILE '%s' FORMAT %s" % (sql, rows.name, form))
    return b""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        ask = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        given = base64.b64decode((self.headers.get("Authorization") or "").replace("Basic ", "")).decode().partition(":")[2]
        status, answer = 403, b"Code: 516. DB::Exception: Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)"
        if given == PASSWORD:
            with ONE_AT_A_TIME:
                try:
                    status, answer = 200, run(ask.get("database", "default"), ask.get("query"), body)
                except Exception as e:  # the engine tells all of its errors so
                    status, answer = 404 if "UNKNOWN_DATABASE" in str(e) else 500, str(e).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


ThreadingHTTPServer(("127.0.0.1", int(setting(CONFIG, "http_port"))), Handler).serve_forever()
