"""`rocewatch web` as its clients see it: the documents are those of the command line, and no client, slow, hostile or many, keeps others
from their answers. test_http.py BUILD [NAME...]"""
import base64, contextlib, http.client, json, os, re, resource, shutil, signal, socket, ssl, subprocess, sys, tempfile, threading, time, urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "schema")]
import schemas as schema_files  # noqa: E402
from web_server import Failed, Web, check, read_all, wait_for  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402
from shipped import shipped  # noqa: E402

TOKEN = "a-token-of-thirty-two-characters"


def run(*argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S, **more)


class Case:
    """A replayed fabric with an incident, once for all tests."""
    def __init__(self, build):
        self.build, self.binary = build, os.path.join(os.path.realpath(build), "rocewatch")
        self.dir = tempfile.mkdtemp(prefix="rw-http-")
        self.case, self.db = os.path.join(self.dir, "case"), os.path.join(self.dir, "case.db")
        for argv in (["lab", "record", "--begin", "1970-01-01T00:00:00Z", "pfc-storm", "--out", self.case], ["replay", "--from", self.case, "--db", self.db]):
            done = run(shipped(build), *argv)
            check(done.returncode == 0, "%s: %s" % (argv, done.stderr))

    def web(self, **more):
        return Web(self.build, ["--db", self.db], **more)

    def config(self, http, name="site.yaml"):
        """A configuration file over the same database, with this http section."""
        path = os.path.join(self.dir, name)
        with open(os.path.join(self.case, "fabric.yaml")) as f:
            text = re.sub(r"(- \{ name: \w+, role: \w+) \}", r"\1, snmp: { address: 127.0.0.1, credentials: ro } }", f.read())
        credentials = "credentials: { ro: { snmp: { version: 2c, community_env: RW_HTTP_TEST } } }\n"
        with open(path, "w") as f:
            f.write(text + "\n" + credentials + "store: { path: %s }\nhttp: %s\n" % (self.db, http))
        return path

    def cli(self, *argv):
        db = [] if argv[0] == "profile" else ["--db", self.db]  # profiles are no part of a database
        done = run(self.binary, *db, *argv, "--format", "json")
        return done.returncode, done.stdout, done.stderr.decode()


# ---- documents -------------------------------------------------------------

def words_of(case, path, query):
    """The command whose JSON this document is; None: the API alone has it."""
    own = {"query": ["query", query.get("metric")], "query/list": ["query", "--list"], "watch": ["watch", "--once"],
           "tune/review": ["tune", "review", "--no-record"], "config/show": None,
           "ecmp/history": None, "counters": None, "incidents": ["incident", "list", "--all"] if "all" in query else ["incident", "list"]}
    if path in own:
        return own[path]
    # Lists, whose commands are called by one of the things.
    own = {"alerts": ["alert", "list"], "silences": ["silence", "list"]}
    words = own.get(path) or path.split("/")
    return words + [query[k] for k in ("id", "name") if k in query]


def given_for(path, params, ids):
    """A value for each parameter that must be given."""
    values = {"id": ids.get(path), "metric": "port.out_octets", "name": "leaf2:Ethernet2"}
    given = {}
    for p in params:
        if p.get("required"):
            check(values.get(p["name"]), "%s: the test has no value for '%s'" % (path, p["name"]))
            given[p["name"]] = values[p["name"]]
    return given


def test_documents_are_the_commands(case):
    with case.web() as web:
        paths = web.json("/api/v1/openapi.json")["paths"]
        Stream(web)  # frames are made on a thread of their own, at the same time
        incidents = web.json("/api/v1/incidents?all=1")["incidents"]
        check(incidents, "the case has no incident")
        ids = {p[len("/api/v1/"):]: incidents[0]["id"] for p in paths if p.startswith("/api/v1/incident/")}
        # A time says how it is written, and what it says is taken; a stream of events has no schema.
        whole, = (p["schema"] for p in paths["/api/v1/status"]["get"]["parameters"] if p["name"] == "range")
        schema = whole["properties"]
        for query in ({"around": "1h"}, {"around": "1h", "span": "5m"}, {"since": "2h", "until": "1h"}, {"span": "5m"}, {"around": "1h", "since": "2h"}, {"around": "1h", "until": "1m"}):
            good = all(need in query for name in query for need in whole["dependentRequired"].get(name, []))
            good &= not any(whole["dependentSchemas"][name]["properties"].get(other) is False for name in query if name in whole["dependentSchemas"] for other in query)
            check((web.get("/api/v1/status?" + urllib.parse.urlencode(query))[0] == 200) == good, "%s: the description says %s" % (query, good))
        check("No agent runs" in paths["/healthz"]["get"]["responses"]["503"]["description"] and web.get("/healthz")[0] == 503, "healthz without an agent")
        ago = schema["since"]["anyOf"][1]["pattern"]
        check(schema["since"]["anyOf"][0]["format"] == "date-time" and schema["span"]["pattern"] == ago, "times: %s" % schema)
        for text, good in (("90s", True), ("15m", True), ("7d", True), ("yesterday", False), ("", False), ("-1h", False)):
            check(bool(re.search(ago, text)) == good, "%r by the pattern" % text)
            check((web.get("/api/v1/status?since=" + text)[0] == 200) == good, "%r by the server" % text)
        check(b"is not a time" not in web.get("/api/v1/status?since=2026-11-21T03:00:00.5%2B01:00")[2], "a date-time of RFC 3339")
        check(paths["/api/v1/events"]["get"]["responses"]["200"]["content"] == {"text/event-stream": {}}, "events")
        seen, schemas = 0, schema_files.Schemas(os.path.dirname(case.binary))
        for full in sorted(paths):
            path = full[len("/api/v1/"):] if full.startswith("/api/v1/") else None
            if not path or path in ("act", "events", "tune/show"):
                continue
            if path.startswith("xray/"):  # test_xray.py asks where flows were kept
                status, _, body = web.get(full + ("" if path == "xray/learn" else "?flows=src,dst;10.0.0.1,10.0.0.2"))
                check(status == 404 and b"no flow with the member it left by" in body, "%s: %d %s" % (full, status, body))
                continue
            query = given_for(path, paths[full]["get"]["parameters"], ids)
            status, headers, body = web.get(full + "?" + "&".join("%s=%s" % kv for kv in query.items()))
            check(status == 200, "%s: %d %s" % (full, status, body[:300]))
            check(headers["content-type"] == "application/json", "%s: %s" % (full, headers))
            # Described by a schema that the server has, and as it says.
            at = paths[full]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
            name = os.path.basename(at)[:-len(schema_files.ENDING)]
            check(web.json(at) == schemas.by_id[os.path.basename(at)], "%s is not the schema of the build" % at)
            wrong = schemas.mistakes(name, json.loads(body))
            check(not wrong, "%s: %s" % (full, "; ".join(wrong[:5])))
            words = words_of(case, path, query)
            if words:
                code, out, err = case.cli(*words)
                if path == "doctor":  # free bytes of the disk change by themselves
                    out, body = (b"\n".join(l for l in text.split(b"\n") if b"disk" not in l) for text in (out, body))
                check(out == body, "%s is not what 'rocewatch %s' prints (exit %d %s):\n%s\n---\n%s" %
                      (full, " ".join(words), code, err, out[:500].decode(), body[:500].decode()))
            seen += 1
        check(seen >= 15, "only %d documents" % seen)
        # The time range and other parameters are those of the command.
        body = web.get("/api/v1/query?metric=port.out_octets&device=leaf1&step=1m&rate=1&since=1970-01-01T00:05:00Z&until=1970-01-01T00:10:00Z")[2]
        out = case.cli("query", "port.out_octets", "--device", "leaf1", "--step", "1m", "--rate", "--since", "1970-01-01T00:05:00Z", "--until",
                       "1970-01-01T00:10:00Z")[1]
        check(out == body and len(json.loads(body)["rows"]) > 5, "query with parameters differs")


def test_configuration(case):
    config = case.config("{ listen: '127.0.0.1:9421' }")
    with Web(case.build, ["-c", config]) as web:
        shown = run(case.binary, "config", "show", config, "--format", "json")
        check(shown.returncode == 0 and shown.stdout == web.get("/api/v1/config/show")[2], "config/show: %s" % shown.stderr)
    # With a mistake in the file, nothing is served on its behalf: which tokens it asks for is not known.
    with open(config, "a") as f:
        f.write("rolle: x\n")
    done = run(case.binary, "-c", config, "web", "--listen", "127.0.0.1:0")
    check(done.returncode == 2 and b"rolle" in done.stderr, "%d %s" % (done.returncode, done.stderr))


def test_errors_are_the_commands(case):
    with case.web() as web:
        def error(path, status):
            got, headers, body = web.get(path)
            check(got == status, "%s: %d, expected %d: %s" % (path, got, status, body[:200]))
            check(headers["content-type"] == "application/json", str(headers))
            return json.loads(body)["error"]

        for query, words in (("status?around=zzz", ["status", "--around", "zzz"]), ("status?span=5m", ["status", "--span", "5m"]),
                             ("query?metric=port.out_octet", ["query", "port.out_octet"]),
                             ("query?metric=port.out_octets&agg=mix", ["query", "port.out_octets", "--agg", "mix"]),
                             ("query?metric=port.out_octets&device=leef1", ["query", "port.out_octets", "--device", "leef1"]),
                             ("ecmp/groups?device=nope", ["ecmp", "groups", "--device", "nope"]),
                             ("tune/review?priority=9", ["tune", "review", "--priority", "9"])):
            said = error("/api/v1/" + query, 400)
            code, _, printed = case.cli(*words)
            check(code == 2 and said in printed, "%r is not what the command says: %r" % (said, printed))
        check("zzzzzzzz" in error("/api/v1/incident/show?id=zzzzzzzz", 404), "the id is not named")
        check("did you mean 'since'?" in error("/api/v1/status?sinc=1h", 400), "no nearest name")
        check("did you mean '/api/v1/status'?" in error("/api/v1/sttus", 404), "no nearest path")
        check("missing" in error("/api/v1/incident/show", 400), "a missing parameter")
        check("twice" in error("/api/v1/status?since=1h&since=2h", 400), "given twice")
        check("no parameters" in error("/healthz?x=1", 400), "healthz takes none")
        for path in ("/api", "/api/v1", "/api/v1/", "/nope", "/index.html/", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/../../etc/passwd",
                     "/api/v1/../../etc/passwd", "/api/v1/status/", "/STATUS"):
            error(path, 404)
        for path in ("/api/v1/status?since=%zz", "/%00", "/api/v1/status?since=%00", "/a%0d%0aX-Injected:1", "/api/v1/status?=x"):
            error(path, 400)
        check("argument list" not in error("/" + "a" * 5000, 414), "too long")
        check("more than" in error("/api/v1/status?" + "&".join("p%d=1" % i for i in range(40)), 400), "too many parameters")


def test_limits_of_a_query(case):
    with case.web() as web:
        status, _, body = web.get("/api/v1/query?metric=port.out_octets&step=10ms")
        check(status == 400 and "100000 rows" in json.loads(body)["error"], "%d %s" % (status, body[:200]))


# ---- HTTP ------------------------------------------------------------------

def test_methods_and_headers(case):
    with case.web() as web:
        for path in ("/api/v1/status", "/dygraph.min.js", "/", "/runbooks/", "/runbooks/pfc_storm", "/runbooks/pfc_storm.md"):
            status, headers, body = web.get(path)
            check(status == 200 and body, "%s: %d" % (path, status))
            for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("cache-control", "no-cache")):
                check(headers.get(name) == value, "%s: %s is %s" % (path, name, headers.get(name)))
            check("default-src 'self'" in headers["content-security-policy"], str(headers))
            check(not [h for h in headers if h.startswith("access-control")], "CORS: %s" % headers)
            again = web.get(path, headers={"If-None-Match": headers["etag"]})
            check(again[0] == 304 and not again[2], "%s: not 304: %s" % (path, again[:2]))
            other = web.get(path, headers={"If-None-Match": '"other"'})
            check(other[0] == 200 and other[2] == body, "%s: not 200" % path)
            head = web.get(path, method="HEAD")
            check(head[0] == 200 and not head[2] and head[1]["content-length"] == str(len(body)), "%s: HEAD: %s" % (path, head[:2]))
        for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"):
            status, headers, body = web.get("/api/v1/status", method=method)
            check(status == 405 and headers["allow"] == "GET, HEAD, OPTIONS", "%s: %d %s" % (method, status, headers))
        status, headers, body = web.get("/api/v1/status", method="OPTIONS")
        check(status == 204 and headers["allow"] == "GET, HEAD, OPTIONS", "OPTIONS: %d" % status)
        check(web.get("/api/v1/events", method="HEAD")[0] == 200, "HEAD of the stream")


def test_runbooks(case):
    """The page of each cause, the index, and nothing else below /runbooks/; an incident names its page."""
    with case.web() as web:
        status, headers, index = web.get("/runbooks/")
        check(headers["content-type"].startswith("text/html") and b'<a href="pfc_storm">' in index, "the index: %s" % headers)
        causes = set(re.findall(rb'<a href="([a-z0-9_]+)">', index))
        check(len(causes) >= 40, "%d causes in the index" % len(causes))
        for cause in causes:
            status, headers, page = web.get("/runbooks/" + cause.decode())
            check(status == 200 and b"<h2>Confirm by hand</h2>" in page and b"<title>" + cause in page, "%s: %d" % (cause, status))
            check(b"<script>" not in page and b"style=" not in page, "%s: not allowed by the policy of the page" % cause)
        for path in ("/runbooks", "/runbooks/nope", "/runbooks/../app.js", "/runbooks/pfc_storm/", "/runbooks//pfc_storm", "/runbooks/README.html"):
            check(web.get(path)[0] in (400, 404), "%s: %d" % (path, web.get(path)[0]))
        shown = [i for i in json.loads(web.get("/api/v1/incidents?all=1")[2])["incidents"] if i["cause"] == "pfc_storm"]
        check(shown and shown[0]["runbook"] == "rocewatch runbook pfc_storm", str(shown)[:200])
    for keys, link in (("web_url: 'https://noc/rw/'", "https://noc/rw/runbooks/pfc_storm"),
                       ("web_url: 'https://noc/rw/', runbook_url: 'https://wiki/{cause}.html'", "https://wiki/pfc_storm.html")):
        config = case.config("{ listen: '127.0.0.1:9421' }\nalerts: { %s }" % keys)
        done = run(case.binary, "-c", config, "incident", "list", "--all", "--cause", "pfc_storm", "--format", "json")
        check(done.returncode == 0 and json.loads(done.stdout)["incidents"][0]["runbook"] == link, "%s: %s %s" % (keys, done.stdout[-300:], done.stderr))


def test_hostile_heads(case):
    with case.web() as web:
        def first_line(data):
            return web.raw(data, timeout=HANG_S).split(b"\r\n")[0]

        check(b" 431 " in first_line(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20000 + b"\r\n\r\n"), "a header of 20 kB")
        many = b"".join(b"X-%d: %s\r\n" % (i, b"v" * 80) for i in range(400))
        check(b" 431 " in first_line(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + many + b"\r\n"), "400 headers")
        check(b" 414 " in first_line(b"GET /" + b"a" * 30000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"), "an address of 30 kB")
        check(b" 421 " in first_line(b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"), "a foreign Host")
        check(b" 421 " in first_line(b"GET / HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n"), "a foreign Host for the page")
        check(b" 421 " in first_line(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"), "two Hosts")
        check(b" 421 " in first_line(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\nConnection: close\r\n\r\n"), "a Host like ours")
        check(b" 400 " in first_line(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"), "HTTP/1.1 without Host")
        asks = "GET %s HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: %s\r\nSec-Fetch-Mode: %s\r\nConnection: close\r\n\r\n"
        for path, site, mode, status in [("/api/v1/status", "cross-site", "cors", 403), ("/api/v1/status", "cross-site", "navigate", 403),
                                         ("/", "cross-site", "no-cors", 403), ("/", "cross-site", "navigate", 200),
                                         ("/api/v1/openapi.json", "same-origin", "cors", 200), ("/api/v1/openapi.json", "none", "navigate", 200)]:
            check(b" %d " % status in first_line((asks % (path, site, mode)).encode()), "%s asked by %s, %s" % (path, site, mode))
        for host in (b"localhost", b"LOCALHOST:1", b"127.0.0.1", b"[::1]:80", b"127.8.9.10:9421"):
            check(b" 503 " in first_line(b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"), "Host %s" % host)
        for junk in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xff" * 300, b"GET\r\n\r\n", b"\0" * 1000, b"GET / HTTP/9.9\r\n\r\n"):
            web.raw(junk, timeout=2)
        # A body that nobody asked for is not read, and its connection not used again.
        answer = web.raw(b"GET /api/v1/query/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nabc", timeout=HANG_S)
        check(answer.startswith(b"HTTP/1.1 200 "), "a body: %r" % answer[:100])
        # Smuggled: two lengths.
        answer = web.raw(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n", timeout=3)
        check(answer.count(b"HTTP/1.1 ") == 1, "smuggled: %r" % answer)
        # Three at once, answered in order.
        one = b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
        answer = web.raw(one % (b"/api/v1/query/list", b"") + one % (b"/healthz", b"") + one % (b"/nope", b"Connection: close\r\n"), timeout=HANG_S)
        lines = [l for l in answer.split(b"\r\n") if l.startswith(b"HTTP/1.1 ") or b"HTTP/1.1 " in l]
        check([l[l.index(b"HTTP/1.1 ") + 9:][:3] for l in lines] == [b"200", b"503", b"404"], "pipelined: %s" % lines)
        check(web.get("/api/v1/status")[0] == 200, "still there")


def test_health(case):
    with case.web() as web:
        status, _, body = web.get("/healthz")
        check(status == 503 and "no agent is running" in json.loads(body)["error"], "%d %s" % (status, body))
        status, headers, body = web.get("/metrics")
        check(status == 200 and b"rocewatch_" in body, "/metrics: %d %s" % (status, body[:100]))


# ---- slow and many clients -------------------------------------------------

def healthy(web):
    begin = time.monotonic()
    check(web.get("/healthz", timeout=HANG_S)[0] == 503, "healthz")
    return time.monotonic() - begin


def dribble(web, n, begin, byte, end):
    """@n connections that send @begin, then @byte again and again, until the server has closed them all or @end."""
    sockets = []
    for _ in range(n):
        s = web.connect()
        s.sendall(begin)
        s.setblocking(False)
        sockets.append(s)
    checks = 0
    while sockets and time.monotonic() < end:
        left = []
        for s in sockets:
            try:
                s.send(byte)
                with contextlib.suppress(BlockingIOError):
                    if not s.recv(65536):
                        raise ConnectionError
                left.append(s)
            except OSError:
                s.close()
        sockets = left
        healthy(web)
        checks += 1
        time.sleep(0.1)
    for s in sockets:
        s.close()
    return len(sockets), checks


def test_slow_clients(case):
    config = case.config("{ listen: '127.0.0.1:9421', request_timeout: 2s }")
    with Web(case.build, ["-c", config]) as web:
        # Slowloris: a head that never ends; each byte is activity, and does not help.
        left, checks = dribble(web, 60, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"a", time.monotonic() + 40)
        check(left == 0 and checks > 0, "%d dribbling heads are still connected" % left)
        # Nothing at all.
        quiet = [web.connect() for _ in range(30)]
        for s in quiet:
            s.settimeout(40)
            check(s.recv(1) == b"", "a silent connection is not closed")
            s.close()
        # A body without end.
        left, checks = dribble(web, 20, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n", b"b", time.monotonic() + 40)
        check(left == 0, "%d dribbling bodies are still connected" % left)
        # Big answers that nobody reads.
        greedy = []
        for _ in range(10):
            s = web.connect()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(b"GET /api/v1/query?metric=port.out_octets HTTP/1.1\r\nHost: localhost\r\n\r\n")
            greedy.append(s)
        for _ in range(5):
            healthy(web)
            check(web.get("/api/v1/status")[0] == 200, "a document beside readers that do not read")
        for s in greedy:
            s.close()


def test_thousand_connections(case):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    check(hard >= 2200, "the test needs 2,200 open files, the limit is %d" % hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2200), hard))
    with case.web() as web:
        idle = [web.connect() for _ in range(700)]
        active = []
        for _ in range(300):
            s = web.connect(60)
            s.sendall(b"GET /api/v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n")
            active.append(s)
        worst = max(healthy(web) for _ in range(10))
        tags = set()
        for s in active:
            f = s.makefile("rb")
            check(b" 200 " in f.readline(), "not 200")
            for line in iter(f.readline, b"\r\n"):
                if line.lower().startswith(b"etag:"):
                    tags.add(line)
                if line.lower().startswith(b"content-length:"):
                    n = int(line.split(b":")[1])
            check(len(f.read(n)) == n, "a short answer")
        check(len(tags) == 1, "300 clients got %d different documents" % len(tags))
        print("  1,000 connections: /healthz within %.0f ms" % (worst * 1000))
        for s in idle + active:
            s.close()
    # More than are allowed: the one that is quiet for longest makes room.
    config = case.config("{ listen: '127.0.0.1:9421', max_connections: 50 }")
    with Web(case.build, ["-c", config]) as web:
        idle = [web.connect() for _ in range(200)]
        for _ in range(5):
            healthy(web)
        for s in idle:
            s.close()


# ---- who may ask -----------------------------------------------------------

def tokens_file(case, text, mode=0o600, name="tokens"):
    path = os.path.join(case.dir, name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def test_tokens(case):
    path = tokens_file(case, "# operations room\nnoc %s\n\n%s\n" % (TOKEN, TOKEN[::-1]))
    config = case.config("{ listen: '127.0.0.1:9421', tokens_file: %s }" % path)
    with Web(case.build, ["-c", config]) as web:
        def status(path, token=None, header=None):
            headers = {"Authorization": header or "Bearer " + token} if token or header else {}
            return web.get(path, headers=headers)

        secret = ("/api/v1/status", "/api/v1/openapi.json", "/metrics", "/healthz", "/api/v1/events", "/api/v1/nope", "/nope")
        for p in secret:
            answer = status(p)
            check(answer[0] == 401 and answer[1]["www-authenticate"].startswith("Bearer"), "%s without a token: %d" % (p, answer[0]))
            check(b"leaf" not in answer[2], "an answer without a token tells of the fabric")
        for wrong in (TOKEN + "x", TOKEN[:-1], TOKEN.upper(), "", " ", "x" * 5000):
            check(status("/api/v1/status", header="Bearer " + wrong)[0] in (401, 431), "wrong token %r" % wrong)
        basic = base64.b64encode(b"noc:" + TOKEN.encode()).decode()
        check(status("/api/v1/status", header="Basic " + basic)[0] == 401, "Basic")
        check(status("/api/v1/status?token=" + TOKEN)[0] == 401, "a token in the address")
        for good in (TOKEN, TOKEN[::-1]):
            check(status("/api/v1/status", good)[0] == 200, "a right token")
        check(status("/api/v1/status", header="bearer " + TOKEN)[0] == 200, "the scheme's letters do not matter")
        for open_to_all in ("/", "/app.js", "/dygraph.min.js", "/runbooks/pfc_storm"):
            check(status(open_to_all)[0] == 200, "%s needs a token" % open_to_all)
        # Read again at SIGHUP; a file that is wrong is refused whole.
        tokens_file(case, "another-token-of-many-characters\n")
        web.process.send_signal(signal.SIGHUP)
        wait_for("the new token", lambda: status("/api/v1/status", "another-token-of-many-characters")[0] == 200)
        check(status("/api/v1/status", TOKEN)[0] == 401, "the old token")
        tokens_file(case, "too-short\n")
        web.process.send_signal(signal.SIGHUP)
        wait_for("a refusal", lambda: "reload refused" in web.text())
        check(status("/api/v1/status", "another-token-of-many-characters")[0] == 200, "the tokens in force")
        check("too-short" not in web.text() and TOKEN not in web.text(), "a token in the log")
    for text, mode, words in (("%s\n" % TOKEN, 0o644, "chmod 600"), ("", 0o600, "no token"), ("short\n", 0o600, "expected 16")):
        tokens_file(case, text, mode)
        done = run(case.binary, "-c", config, "web", "--listen", "127.0.0.1:0")
        check(done.returncode in (1, 2) and words in done.stderr.decode(), "%r: %d %s" % (words, done.returncode, done.stderr))


def test_networks_and_hosts(case):
    config = case.config("{ listen: '127.0.0.1:9421', allow: [127.0.0.2/32, 2001:db8::/32], hosts: [rocewatch.example] }")
    with Web(case.build, ["-c", config]) as web:
        answer = web.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", timeout=HANG_S)
        check(answer == b"", "a client outside the networks got %r" % answer[:80])

        def from_second(host):
            with contextlib.closing(socket.socket()) as s:
                s.bind(("127.0.0.2", 0))
                s.settimeout(30)
                s.connect(("127.0.0.1", web.port))
                s.sendall(b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
                return read_all(s).split(b" ")[1]

        check(from_second(b"localhost") == b"503", "a client of the network")
        check(from_second(b"RoceWatch.example:443") == b"503", "the proxy's name")
        check(from_second(b"evil.example") == b"421", "another name")


def test_refuses_what_is_not_safe(case):
    for options, more, words in (
            (["--db", case.db], ["--listen", "0.0.0.0:0"], "needs tls"),
            (["--db", case.db], ["--listen", "nonsense"], "no address"),
            (["-c", case.config("{ listen: '192.0.2.1:9421', tokens_file: /x }")], [], "needs tls")):
        done = run(case.binary, *options, "web", *more)
        check(done.returncode == 2 and words in done.stderr.decode(), "%s: %d %s" % (more, done.returncode, done.stderr))
    with Web(case.build, ["-c", case.config("{ listen: '0.0.0.0:9421', insecure: true }")], listen="0.0.0.0:0") as web:
        check(web.get("/api/v1/status")[0] == 200, "insecure: true")


# ---- TLS -------------------------------------------------------------------

def test_many_streams(case):
    config = case.config("{ listen: '127.0.0.1:9421', max_connections: 20 }")
    with Web(case.build, ["-c", config]) as web:
        streams = []
        for _ in range(30):
            s = web.connect()
            s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            streams.append(s)
            first = s.recv(12)
            check(first == (b"HTTP/1.1 200" if len(streams) <= 10 else b"HTTP/1.1 503"), "stream %d: %r" % (len(streams), first))
            if len(streams) > 10:
                streams.pop().close()
                break
        check(len(streams) == 10, "%d streams" % len(streams))
        healthy(web)
        for s in streams:
            s.close()


def certificate(case, name):
    cert, key = os.path.join(case.dir, "cert.pem"), os.path.join(case.dir, "key.pem")
    done = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=" + name,
               "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert)
    check(done.returncode == 0, "openssl: %s" % done.stderr)
    return cert, key


def tls_context(lowest, highest):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")  # else our own library would refuse TLS 1.0, and not the server
    context.minimum_version, context.maximum_version = lowest, highest
    return context


def tls_get(web, context):
    with context.wrap_socket(web.connect(), server_hostname="localhost") as s:
        s.sendall(b"GET /api/v1/query/list HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\nConnection: close\r\n\r\n")
        return s.version(), read_all(s), s.getpeercert(binary_form=True)


def test_tls(case):
    cert, key = certificate(case, "one")
    tokens = tokens_file(case, TOKEN + "\n")
    config = case.config("{ listen: '0.0.0.0:9421', tokens_file: %s, tls: { cert: %s, key: %s } }" % (tokens, cert, key))
    with Web(case.build, ["-c", config], listen="0.0.0.0:0") as web:
        check("https://" in web.text(), web.text())
        v = ssl.TLSVersion
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        for version in (v.TLSv1, v.TLSv1_1):
            try:
                tls_get(web, tls_context(version, version))
                raise Failed("%s was accepted" % version)
            except ssl.SSLError as e:
                check("ALERT" in str(e).upper() or "EOF" in str(e).upper(), "%s was not refused by the server: %s" % (version, e))
            except ConnectionResetError:
                pass
        for version, name in ((v.TLSv1_2, "TLSv1.2"), (v.TLSv1_3, "TLSv1.3")):
            got, answer, first = tls_get(web, tls_context(version, version))
            check(got == name and answer.startswith(b"HTTP/1.1 200 "), "%s: %s %r" % (version, got, answer[:80]))
        context = tls_context(v.TLSv1_2, v.TLSv1_2)
        context.set_ciphers("AES128-SHA:AES256-SHA:DES-CBC3-SHA:@SECLEVEL=0")
        try:
            tls_get(web, context)
            raise Failed("a cipher without forward secrecy was accepted")
        except ssl.SSLError:
            pass
        check(b"200" not in web.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", timeout=5), "plain HTTP on the TLS port")
        # A handshake that never ends.
        stuck = [web.connect() for _ in range(20)]
        for s in stuck:
            s.sendall(b"\x16\x03\x01")
        check(tls_get(web, tls_context(v.TLSv1_2, v.TLSv1_3))[1].startswith(b"HTTP/1.1 200 "), "beside stuck handshakes")
        # SIGHUP: a new certificate; one that is wrong is refused.
        certificate(case, "two")
        web.process.send_signal(signal.SIGHUP)

        def renewed():
            with contextlib.suppress(OSError, ValueError):  # connections end while the certificate is changed
                return tls_get(web, tls_context(v.TLSv1_2, v.TLSv1_3))[2] != first

        wait_for("the new certificate", renewed)
        with open(cert, "w") as f:
            f.write("no certificate\n")
        web.process.send_signal(signal.SIGHUP)
        wait_for("a refusal", lambda: "reload refused" in web.text())
        check(tls_get(web, tls_context(v.TLSv1_2, v.TLSv1_3))[1].startswith(b"HTTP/1.1 200 "), "the certificate in force")
        for s in stuck:
            s.close()


# ---- events ----------------------------------------------------------------

class Stream(threading.Thread):
    """Reads server-sent events: .events is [(event, data)]."""
    def __init__(self, web):
        super().__init__(daemon=True)
        self.events, self.ended = [], False
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=HANG_S)
        self.connection.connect()
        self.socket = self.connection.sock
        self.connection.request("GET", "/api/v1/events", headers={"Last-Event-ID": "99999"})
        self.answer = self.connection.getresponse()
        check(self.answer.status == 200 and self.answer.getheader("Content-Type") == "text/event-stream", "the stream: %d" % self.answer.status)
        self.start()

    def run(self):
        event, data = None, ""
        with contextlib.suppress(Exception):
            while True:
                line = self.answer.readline()
                if not line:
                    break
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    event = line[7:]
                elif line.startswith("data: "):
                    data += line[6:]
                elif not line and event:
                    self.events.append((event, json.loads(data)))
                    event, data = None, ""
        self.ended = True

    def of(self, kind):
        return [d for e, d in self.events if e == kind]


def test_events(case):
    with case.web() as web:
        streams = [Stream(web) for _ in range(8)]
        wait_for("eight frames", lambda: all(s.of("watch") for s in streams))
        frame = streams[0].of("watch")[0]
        check(frame == web.json("/api/v1/watch"), "the event is not the document")
        # Nothing was written: nothing is sent again.
        counts = [len(s.of("watch")) for s in streams]
        incident = frame["incidents"][0]["id"]
        code, _, err = case.cli("incident", "ack", incident, "--text", "seen")
        if code != 0:
            code, _, err = case.cli("incident", "ack", incident)
        check(code == 0, "ack: %s" % err)
        wait_for("the change", lambda: all(s.of("incident") for s in streams), 60)
        change = streams[0].of("incident")[0]
        check(change["change"] == "changed" and change["incident"]["id"] == incident, str(change)[:300])
        check(all(len(s.of("watch")) == n + 1 for s, n in zip(streams, counts)), "frames that did not change were sent: %s" %
              [len(s.of("watch")) for s in streams])
        check(len({json.dumps(s.of("watch")[-1]) for s in streams}) == 1, "the streams differ")
        # Nothing more is written: the streams say that the frame still holds, and do not send it again.
        counts = [len(s.of("watch")) for s in streams]
        wait_for("still there", lambda: all(s.of("still") for s in streams), 60)
        check([len(s.of("watch")) for s in streams] == counts, "a frame that did not change was sent again")
        # One who leaves disturbs nobody.
        streams[0].socket.shutdown(socket.SHUT_RDWR)
        healthy(web)
        left = streams[1:]
        web.process.send_signal(signal.SIGTERM)
        wait_for("the end of the streams", lambda: all(s.ended for s in left))


def test_child_ends_with_its_parent(case):
    ready = os.path.join(case.dir, "child-port")
    code = ("import subprocess, sys, os, time\n"
            "p = subprocess.Popen(%r)\nprint(p.pid, flush=True)\nsys.stdin.read()\nos._exit(0)\n" %
            [case.binary, "--db", case.db, "web", "--listen", "127.0.0.1:0", "--child", "--port-file", ready])
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pid = int(parent.stdout.readline())
    try:
        wait_for("the child", lambda: os.path.exists(ready))
        with open("/proc/%d/status" % pid) as f:
            status = dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)
        for kind in ("CapEff", "CapPrm", "CapBnd"):
            check(int(status[kind], 16) == 0, "the child keeps %s %s" % (kind, status[kind]))
        check(status["NoNewPrivs"] == "1", "the child may gain privileges")
    finally:
        parent.stdin.close()
        parent.wait()
    wait_for("the end of the child", lambda: not os.path.exists("/proc/%d" % pid) or open("/proc/%d/stat" % pid).read().split()[2] == "Z")


def main():
    build, names = sys.argv[1], sys.argv[2:]
    case, failed = Case(build), []
    try:
        for name, test in list(globals().items()):
            if not name.startswith("test_") or (names and name[5:] not in names):
                continue
            begin = time.monotonic()
            try:
                test(case)
                print("ok   %-40s %5.1f s" % (name[5:], time.monotonic() - begin), flush=True)
            except Exception as e:
                failed.append(name)
                print("FAIL %-40s %s: %s" % (name[5:], type(e).__name__, e), flush=True)
    finally:
        shutil.rmtree(case.dir, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
