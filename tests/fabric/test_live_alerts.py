#!/usr/bin/env python3
"""test_live_alerts.py BUILD - a PFC storm of the live lab reaches every receiver: Debian's Alertmanager, a signed webhook, a mail server, syslog over
UDP and TCP, a program; once each, while one receiver hangs and another is away. The Alertmanager is killed and begins anew with nothing; the agent
is killed (SIGKILL) with alerts still to be told. Nothing is lost, nothing comes twice, and polling goes on. Then the incident is silenced and closed:
everybody who heard of it hears of its end."""
import email, email.header, email.policy, hashlib, hmac, http.server, json, os, re, shutil, signal, socket, subprocess, sys, threading, time, urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import SKIP, Live, check, main, wait_for
from ports import free_port
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

SECRET = "a secret of the test"
RETRY_S = 2


class Http:
    """Keeps (path, headers, body) of each POST."""

    def __init__(self, port=0):
        got = self.got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                got.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def documents(self):
        return [json.loads(body) for _, _, body in list(self.got)]


def udp_sink(got):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 0))

    def run():
        while True:
            got.append(s.recv(65535).decode())

    threading.Thread(target=run, daemon=True).start()
    return s.getsockname()[1]


def tcp_server(serve):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    s.listen(64)

    def run():
        while True:
            threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    return s.getsockname()[1]


def syslog_frames(got):
    """Octet counting of RFC 6587: "LENGTH MESSAGE"."""

    def serve(c):
        data = b""
        while True:
            part = c.recv(65536)
            if not part:
                break
            data += part
        c.close()
        length, message = data.split(b" ", 1)
        got.append(message.decode() if len(message) == int(length) else "wrong length: %r" % data)

    return serve


def smtp(got):
    def serve(c):
        f = c.makefile("rwb")

        def say(line):
            f.write(line + b"\r\n")
            f.flush()

        say(b"220 sink")
        to, text = [], None
        for line in f:
            if text is not None:
                if line == b".\r\n":
                    got.append((to, email.message_from_bytes(b"".join(text), policy=email.policy.default)))
                    to, text = [], None
                    say(b"250 taken")
                else:
                    text.append(line[1:] if line.startswith(b"..") else line)
            elif line.upper().startswith(b"RCPT"):
                to.append(line.decode().split("<")[1].split(">")[0])
                say(b"250 ok")
            elif line.upper().startswith(b"DATA"):
                text = []
                say(b"354 go on")
            elif line.upper().startswith(b"QUIT"):
                say(b"221 bye")
                break
            else:
                say(b"250 ok")
        c.close()

    return serve


class Alertmanager:
    def __init__(self, work, notified_port):
        self.work, self.port, self.runs, self.process = work, free_port(), 0, None
        self.config = os.path.join(work, "alertmanager.yaml")
        with open(self.config, "w") as f:
            f.write("""
route: { receiver: sink, group_by: [fabric], group_wait: 1s, group_interval: 1s, repeat_interval: 1h }
receivers:
  - { name: sink, webhook_configs: [ { url: "http://127.0.0.1:%d/", send_resolved: true } ] }
""" % notified_port)

    def start(self):
        """Each time with an empty store: what it knew is gone."""
        self.runs += 1
        store = os.path.join(self.work, "alertmanager.%d" % self.runs)
        with open(store + ".log", "w") as out:
            self.process = subprocess.Popen(["prometheus-alertmanager", "--config.file", self.config, "--storage.path", store, "--cluster.listen-address=",
                                             "--web.listen-address", "127.0.0.1:%d" % self.port], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        wait_for("Alertmanager serves", lambda: self.alerts() is not None, 60)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def get(self, path):
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open("http://127.0.0.1:%d/api/v2/%s" % (self.port, path), timeout=HANG_S) as r:
                return json.load(r)
        except OSError:
            return None

    def alerts(self):
        return self.get("alerts")

    def ids(self):
        return sorted(a["labels"]["incident"] for a in self.alerts() or [])


class Sinks:
    def __init__(self, work):
        self.hook, self.notified, self.udp, self.tcp, self.mail = Http(), Http(), [], [], []
        self.udp_port, self.tcp_port = udp_sink(self.udp), tcp_server(syslog_frames(self.tcp))
        self.mail_port = tcp_server(smtp(self.mail))
        self.held = []
        self.hanging_port = tcp_server(self.held.append)  # takes the connection and never answers
        self.late_port, self.late = free_port(), None
        self.paged = os.path.join(work, "paged")
        self.page = os.path.join(work, "page.sh")
        with open(self.page, "w") as f:
            f.write("#!/bin/sh\ncat >/dev/null\necho \"$ROCEWATCH_EVENT $ROCEWATCH_INCIDENT\" >>'%s'\n" % self.paged)
        os.chmod(self.page, 0o755)
        self.secret = os.path.join(work, "hook.secret")
        with open(self.secret, "w") as f:
            f.write(SECRET + "\n")
        os.chmod(self.secret, 0o600)

    def config(self, alertmanager_port):
        return """
alerts:
  web_url: "https://noc.example.org/rocewatch"
  alertmanager: {{ url: "http://127.0.0.1:{am}", resend: 3s, retry: {retry}s }}
  webhook:
    - {{ name: tickets, url: "http://127.0.0.1:{hook}/in", secret_file: "{secret}" }}
    - {{ name: hanging, url: "http://127.0.0.1:{hanging}/", timeout: 5m }}
    - {{ name: late, url: "http://127.0.0.1:{late}/", retry: {retry}s }}
  syslog:
    - {{ name: udp, address: "udp://127.0.0.1:{udp}", facility: local0 }}
    - {{ name: tcp, address: "tcp://127.0.0.1:{tcp}", facility: local0 }}
  mail: {{ to: [noc@example.org, lead@example.org], server: "smtp://127.0.0.1:{mail}" }}
  command: {{ run: ["{page}"] }}
""".format(am=alertmanager_port, hook=self.hook.port, hanging=self.hanging_port, late=self.late_port, udp=self.udp_port, tcp=self.tcp_port,
           mail=self.mail_port, page=self.page, secret=self.secret, retry=RETRY_S)

    # (event, incident) of each message, by receiver
    def told(self):
        ret = {"tickets": [(d["event"], d["incident"]["id"]) for d in self.hook.documents()],
               "mail": [(m["X-Rocewatch-Event"], m["X-Rocewatch-Incident"]) for _, m in list(self.mail)]}
        for name, got in (("udp", self.udp), ("tcp", self.tcp)):
            ret[name] = [re.search(r'event="(\w+)" incident="(\w+)"', m).groups() for m in list(got)]
        if os.path.exists(self.paged):
            with open(self.paged) as f:
                ret["command"] = [tuple(line.split()) for line in f]
        if self.late:
            ret["late"] = [(d["event"], d["incident"]["id"]) for d in self.late.documents()]
        return ret


NAMES = ("tickets", "mail", "udp", "tcp", "command")


def heard(sinks, names, what):
    told = sinks.told()
    return all(what in told.get(name, []) for name in names)


def check_once(sinks, names):
    """No receiver heard the same of the same incident twice."""
    for name in names:
        told = sinks.told().get(name, [])
        twice = {t for t in told if told.count(t) > 1}
        check(not twice, "%s heard twice: %s" % (name, sorted(twice)))


def check_signature(sinks):
    for path, headers, body in list(sinks.hook.got):
        check(path == "/in", path)
        m = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", headers["X-Rocewatch-Signature"])
        check(m, "signature: %s" % headers["X-Rocewatch-Signature"])
        check(abs(int(m[1]) - time.time()) < 600, "time of the signature: %s" % m[1])
        right = hmac.new(SECRET.encode(), m[1].encode() + b"." + body, hashlib.sha256).hexdigest()
        check(hmac.compare_digest(right, m[2]), "the signature is wrong")
        check(SECRET not in str(headers) and SECRET.encode() not in body, "the secret was sent")


def check_texts(sinks, incident):
    one = incident["id"]
    to, mail = next((to, m) for to, m in sinks.mail if m["X-Rocewatch-Event"] == "opened" and m["X-Rocewatch-Incident"] == one)
    check(to == ["noc@example.org", "lead@example.org"], "mail to %s" % to)
    check(mail["Subject"].startswith("[critical] ") or mail["Subject"].startswith("[warning] "), mail["Subject"])
    text = mail.get_content()
    check("rocewatch incident show %s" % one in text and "/#/incident/%s" % one in text, text)
    check(re.search(r"^Runbook: +https?://\S+/runbooks/\w+\r?$", text, re.M), "no runbook in the mail: %s" % text)
    line = next(m for m in sinks.udp if one in m)
    check(re.match(r"<(130|132)>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ rocewatch \d+ opened \[rocewatch@32473 ", line), line)


def check_thread(sinks, one):
    first = next(m for _, m in sinks.mail if m["X-Rocewatch-Incident"] == one)
    last = [m for _, m in sinks.mail if m["X-Rocewatch-Incident"] == one][-1]
    check(last["References"] == first["Message-ID"] == last["In-Reply-To"], "mails of %s are no thread" % one)


def receivers(lab):
    return {r["receiver"]: r for r in json.loads(lab.rocewatch("alert", "list", "--format", "json"))["receivers"]}


def test(build, work):
    if not shutil.which("prometheus-alertmanager"):
        print("prometheus-alertmanager is not installed: not run")
        sys.exit(SKIP)
    sinks = Sinks(work)
    am = Alertmanager(work, sinks.notified.port)
    lab = Live(build, os.path.join(work, "storm"), "pfc-storm", at="10s", seed=10)
    try:
        am.start()
        lab.start()
        lab.served()
        with open(lab.config, "a") as f:
            f.write(sinks.config(am.port))
        lab.rocewatch("config", "check")
        lab.agent()
        run(lab, am, sinks)
    finally:
        Live.stop([lab])
        if am.process and am.process.poll() is None:
            am.kill()
    return "%d messages to tickets, %d notifications of Alertmanager" % (len(sinks.hook.got), len(sinks.notified.got))


def log(lab):
    with open(lab.dir + ".agent.log") as f:
        return f.read()


def open_ids(lab):
    """What is to be told: open, not only for information, and not part of another."""
    return sorted(i["id"] for i in lab.incidents() if i["state"] != "closed" and i["severity"] != "info" and not i["parent"])


def run(lab, am, sinks):
    # 1. everybody hears of it, though one receiver hangs and another is away
    incident = wait_for("an incident", lambda: next((i for i in lab.incidents() if i["severity"] != "info" and not i["parent"]), None), 120, 1)
    one = incident["id"]
    wait_for("all receivers hear of %s" % one, lambda: heard(sinks, NAMES, ("opened", one)), 60)
    wait_for("Alertmanager has it", lambda: one in am.ids(), 60)
    since = lab.newest()

    def named():
        """The alert with the cause that the incident has now: a slow receiver may turn out to be a storm meanwhile, in the same alert."""
        cause = next(i["cause"] for i in lab.incidents() if i["id"] == one)
        return next((a for a in am.alerts() if a["labels"]["incident"] == one and a["annotations"]["cause"] == cause), None)

    alert = wait_for("Alertmanager has it under its cause", named, 60, 1)
    check(alert["labels"]["severity"] in ("warning", "critical") and alert["annotations"]["headline"], alert)
    check(alert["generatorURL"].endswith("/#/incident/%s" % one), alert["generatorURL"])
    wait_for("it notifies", lambda: any(a["labels"]["incident"] == one for d in sinks.notified.documents() for a in d["alerts"]), 60)
    check_signature(sinks)
    check_texts(sinks, incident)
    wait_for("a receiver is seen to be away", lambda: receivers(lab)["late"]["state"] == "failing", 30, 1)
    wait_for("the others are seen to answer", lambda: receivers(lab)["tickets"]["state"] == "ok", 30, 1)

    # 2. Alertmanager dies, and the agent with alerts for it and for 'late' still to be told
    am.kill()
    wait_for("its absence is seen", lambda: receivers(lab)["alertmanager"]["state"] == "failing", 60, 1)
    failed = receivers(lab)["alertmanager"]["failed"]
    wait_for("several attempts", lambda: receivers(lab)["alertmanager"]["failed"] >= failed + 4, 120, 1)
    lab.agent_process.send_signal(signal.SIGKILL)
    lab.agent_process.wait()
    lab.agent()
    wait_for("the new agent tries, too", lambda: "alertmanager: an alert could not be sent" in log(lab) and "late: an alert" in log(lab), 120, 1)
    am.start()
    sinks.late = Http(sinks.late_port)
    wait_for("Alertmanager has everything that is open", lambda: am.ids() and am.ids() == open_ids(lab), 90, 1)
    check(len(set(am.ids())) == len(am.ids()), "twice in Alertmanager: %s" % am.ids())
    wait_for("who was away hears of it", lambda: heard(sinks, ["late"], ("opened", one)), 60)

    # 3. polling went on all the time but for the restart
    until = lab.newest()
    polls = lab.polls_since(since, until)
    check(polls >= 0.4 * (until - since) / 1e9 - 10, "%d polls in %.0f s" % (polls, (until - since) / 1e9))

    # 4. silenced and closed: its end is sent, and a new one is not
    lab.rocewatch("silence", "add", "--cause", "*", "--for", "1h", "--why", "the host is repaired")
    silenced = next(i for i in lab.incidents() if i["id"] == one)["silenced"]
    check(silenced and silenced.startswith("by ") and silenced.endswith(": the host is repaired"), "silenced: %s" % silenced)
    lab.rocewatch("incident", "close", one)
    wait_for("all receivers hear of its end", lambda: heard(sinks, NAMES + ("late",), ("resolved", one)), 60)
    wait_for("Alertmanager ends it", lambda: am.alerts() is not None and one not in am.ids(), 60)
    wait_for("and says so", lambda: any(a["status"] == "resolved" and a["labels"]["incident"] == one for d in sinks.notified.documents() for a in d["alerts"]), 60)
    check_once(sinks, NAMES + ("late",))
    check_signature(sinks)
    check_thread(sinks, one)
    firing = [a["labels"]["incident"] for d in sinks.notified.documents() for a in d["alerts"] if a["status"] == "firing"]
    check(one in firing, "Alertmanager told nobody: %s" % firing)
    events = lab.sql("SELECT kind, text FROM events WHERE incident_id = '%s' AND kind LIKE 'alert_%%'" % one)
    check(any(e["kind"] == "alert_sent" and "tickets: opened" in e["text"] for e in events), events)
    check(any(e["kind"] == "alert_failed" and e["text"].startswith("late: ") for e in events), events)

    # 5. who asks is known; a test says what came of it
    lab.rocewatch("event", "add", "--text", "host repaired", "--ticket", "NET-7", "--job", "train")
    noted = json.loads(lab.rocewatch("event", "list", "--kind", "change", "--format", "json"))["events"]
    check(noted and noted[-1]["text"] == "NET-7: host repaired" and noted[-1]["who"] and noted[-1]["job"] == "train", noted)
    check("delivered" in lab.rocewatch("alert", "test", "tickets"), "alert test")
    check(sinks.hook.documents()[-1]["event"] == "test", "no test arrived")
    one = json.loads(lab.rocewatch("silence", "list", "--format", "json"))["silences"][0]
    lab.rocewatch("silence", "expire", one["id"])
    check(json.loads(lab.rocewatch("silence", "list", "--format", "json"))["silences"] == [], "a silence that was ended is still listed")


main(test)
