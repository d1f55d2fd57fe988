#!/usr/bin/env python3
"""A support bundle holds no secret, whatever is broken. Secrets of every kind are planted: in files, variables and a systemd credential that the
configuration names, in the configuration itself, in addresses of receivers, in a note, in a log that is added. Every byte of the bundle is
searched for them, as they are and in base64 (each offset, both alphabets), hexadecimal and percent-encoded. Then: no agent, a broken
configuration, a damaged and a missing database, names that are taken, addresses replaced, the case replayed.
Usage: bundle.py ROCEWATCH"""
import base64, hashlib, io, json, os, re, stat, subprocess, sys, tarfile, tempfile, urllib.parse
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402
from shipped import shipped  # noqa: E402

ROCEWATCH = os.path.realpath(sys.argv[1])
KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
SECRETS = {
    "community": "c0mmun1ty-of-leaves", "auth": "v3-auth-Pass/Phrase+1", "priv": "v3-priv-phrase=2", "gnmi": "gnmi-passw0rd!",
    "token": "tok-9f8e7d6c5b4a", "hook": "T0123ABCD/B0456EFGH/xYz789LmNoPqRsTuVw", "query": "qtok3n-5577", "login": "url-passw0rd",
    "am": "alertmanager-t0ken", "secret": "hook-hmac-s3cret", "mail": "mail-passw0rd", "credential": "from-credential-77", "key": KEY,
    "environment": "env-api-key-123", "inline": "typed-into-the-file", "short": "pub7",
}
CONFIG = """
fabric: lab
store: {{ path: "{db}" }}
credentials:
  v2: {{ snmp: {{ version: 2c, community_file: {dir}/community }} }}
  v3: {{ snmp: {{ version: 3, user: noc, auth: sha256, auth_file: {dir}/auth, priv: aes128, priv_file: "{dir}/priv" }} }}
  g:  {{ gnmi: {{ username: admin, password_file: '{dir}/gnmi' }} }}
  s:  {{ snmp: {{ version: 2c, community_credential: community }} }}
  short: {{ snmp: {{ version: 2c, community_env: SHORT_ONE }} }}
devices:
  - {{ name: leaf1, role: leaf, snmp: {{ address: 192.0.2.11, credentials: v2 }} }}
  - {{ name: leaf2, role: leaf, snmp: {{ address: "[2001:db8:77::12]:161", credentials: v3 }} }}
  - {{ name: spine1, role: spine, snmp: {{ address: 192.0.2.11, credentials: short }} }}
http:
  tokens_file: {dir}/tokens
alerts:
  alertmanager: {{ url: "https://am.example.org:9093", token_env: SOME_NAME }}
  webhook:
    - {{ url: "https://hooks.example.org/services/{hook}", secret_file: {dir}/secret }}
    - {{ name: q, url: "https://noc.example.org/in?token={query}&x=1" }}
    - {{ name: l, url: "https://robot:{login}@noc.example.org/in" }}
  mail: {{ to: [noc@example.org], username: robot, password_file: {dir}/mail }}
"""


def check(ok, text):
    if not ok:
        sys.exit("FAILED: " + text)


def forms(secret):
    raw = secret.encode()
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield urllib.parse.quote(secret, safe="").encode()
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + raw)
        whole = text[(offset + 1 if offset else 0):(len(raw) + offset) * 8 // 6]
        yield whole
        yield whole.replace(b"+", b"-").replace(b"/", b"_")


class World:
    def __init__(self, work):
        self.dir = work
        for name in ("community", "auth", "priv", "gnmi", "secret", "mail"):
            self.write(name, SECRETS[name] + "\n")
        self.write("tokens", "grafana: %s\n" % SECRETS["token"])
        self.write("key.pem", "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n" % KEY)
        os.mkdir(self.path("credentials"))
        self.write("credentials/community", SECRETS["credential"])
        self.db, self.config = self.path("lab.db"), self.path("rocewatch.yaml")
        self.write("rocewatch.yaml", CONFIG.format(db=self.db, dir=work, **SECRETS))
        clean = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
        self.env = {**clean, "SOME_NAME": SECRETS["am"], "SHORT_ONE": SECRETS["short"], "CREDENTIALS_DIRECTORY": self.path("credentials"),
                    "OTHER_API_KEY": SECRETS["environment"], "ROCEWATCH_EXTRA_TOKEN": SECRETS["environment"]}
        case = self.path("recorded")
        self.run("lab", "record", "pfc-storm", "--for", "6m", "--out", case, program=shipped(os.path.dirname(ROCEWATCH)))
        self.run("replay", "--from", case, "--db", self.db, program=shipped(os.path.dirname(ROCEWATCH)))
        self.run("--db", self.db, "event", "add", "--at", "2026-01-05 00:05", "--text", "changed the community to %s" % SECRETS["community"])

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)

    def run(self, *argv, code=0, program=ROCEWATCH):
        p = subprocess.run([program, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=self.env)
        check(p.returncode == code, "%s: exit %d, expected %d: %s" % (" ".join(argv), p.returncode, code, p.stderr[:400]))
        return p

    def bundle(self, name, *argv):
        """The files of a bundle, by name; it was searched for secrets."""
        out = self.path(name)
        said = self.run("support-bundle", "--out", out, *argv)
        mode = stat.S_IMODE(os.stat(out).st_mode)
        check(mode == 0o600, "%s: mode %o" % (name, mode))
        check(os.path.getsize(out) < 32 << 20, name + ": it is too large")
        with tarfile.open(out) as tar:
            files = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
        for kind, secret in SECRETS.items():
            for form in forms(secret):
                for where, data in [*files.items(), ("names", "\n".join(files).encode()), ("stderr", said.stderr.encode())]:
                    data = data.replace(b"pub7lic", b"")  # another word, which a short secret begins
                    if len(form) >= 4 and form in data:
                        at = data.index(form)
                        check(False, "%s: the secret '%s' is in %s: %r" % (name, kind, where, data[max(0, at - 60):at + 60]))
        manifest = json.loads(files["manifest.json"])
        for row in manifest["files"]:
            check(hashlib.sha256(files[row["name"]]).hexdigest() == row["sha256"], row["name"] + ": its SHA-256 differs")
            check(row["name"] == "README.md" or row["name"] in files["README.md"].decode(), row["name"] + ": README.md does not name it")
        check(len(manifest["files"]) == len(files) - 1, name + ": the manifest has other files")
        return files, {m["name"]: m["why"] for m in manifest["missing"]}


def whole(w):
    w.write("agent.log", "\n".join([
        "level=error community %s refused" % SECRETS["community"], "Authorization: Bearer unknown-bearer-1", "POST https://x:unknown-login-2@h/",
        "b64 " + base64.b64encode(b"x" + SECRETS["mail"].encode() + b"tail").decode(), "hex " + SECRETS["gnmi"].encode().hex(),
        "basic " + base64.urlsafe_b64encode(b"robot:" + SECRETS["auth"].encode()).decode(), "pct " + urllib.parse.quote(SECRETS["auth"], safe=""),
        "-----BEGIN RSA PRIVATE KEY-----", KEY, KEY[::-1], "-----END RSA PRIVATE KEY-----", "from 192.0.2.11:161 to 2001:db8:77::12, at 02:33:45",
        "the word pub7lic stays, pub7 goes"]) + "\n")
    w.write("binary.bin", "\0\1\2")
    files, missing = w.bundle("whole.tar.gz", "-c", w.config, "--add", w.path("agent.log"), "--add", w.path("binary.bin"))
    log = files["added/agent.log"].decode()
    for gone in ("unknown-bearer-1", "unknown-login-2", KEY[::-1]):
        check(gone not in log, gone + " is still in the log:\n" + log)
    check("pub7lic stays, MASKED goes" in log and "192.0.2.11:161" in log, log)
    check(list(missing) and "not a text" in missing["added/binary.bin"], "a file that is no text was taken: %s" % missing)
    for name in ("version.txt", "system.txt", "config-file.yaml", "config-effective.yaml", "status.txt", "doctor.json", "db-stat.txt", "incidents.json",
                 "events.json", "topology.txt", "environment.txt", "case/samples.tsv", "case/fabric.yaml", "README.md"):
        check(name in files, "%s is missing: %s" % (name, missing))
    check("community_file" in files["config-file.yaml"].decode() and "MASKED" in files["config-file.yaml"].decode(), "the configuration is not there")
    check(b"MASKED" in files["events.json"], "the note is not there")
    card = next((name for name in files if name.startswith("incidents/")), None)
    check(card and b"pfc_storm" in files[card], "no card: %s" % list(files))
    check("before you send" in files["README.md"].decode() and "kernel: Linux" in files["system.txt"].decode(), "README.md or system.txt lacks something")
    os.mkdir(w.path("case"))
    for name in ("fabric.yaml", "samples.tsv"):
        with open(w.path("case/" + name), "wb") as f:
            f.write(files["case/" + name])
    again = json.loads(w.run("replay", "--from", w.path("case"), "--format", "json").stdout)
    check([i["cause"] for i in again["incidents"]] == ["pfc_storm"], "the case does not replay: %s" % again["incidents"])


def one_incident(w):
    incident = json.loads(w.run("--db", w.db, "incident", "list", "--format", "json").stdout)["incidents"][0]["id"]
    files, _ = w.bundle("incident.tar.gz", "-c", w.config, "--incident", incident)
    check("case/samples.tsv" in files, "no case of the incident")
    files, missing = w.bundle("around.tar.gz", "-c", w.config, "--around", "2026-01-05 00:05", "--span", "30s")
    times = [float(line.split(b"\t")[0]) for line in files["case/samples.tsv"].splitlines() if line[:1].isdigit()]
    check(times and max(times) <= 1767571530 + 1, "--around: %s" % (missing or max(times)))


def anonymous(w):
    w.write("addresses.log", "192.0.2.11:161 then 192.0.2.12, [2001:db8:77::12]:161 then 192.0.2.11; 127.0.0.1 version 1.2.3 at 02:33:45\n")
    files, _ = w.bundle("anonymous.tar.gz", "-c", w.config, "--anonymize", "--add", w.path("addresses.log"))
    for name, data in files.items():
        check(not re.search(rb"192\.0\.2\.1|2001:db8:77", data), "%s has an address: %r" % (name, data[:200]))
    got = re.findall(r"198\.1[89]\.\d+\.\d+", files["added/addresses.log"].decode())
    check(len(got) == 3 and got[0] == got[2] != got[1], "addresses are not replaced alike: %s" % files["added/addresses.log"])
    check(b"127.0.0.1 version 1.2.3 at 02:33:45" in files["added/addresses.log"], files["added/addresses.log"].decode())


def broken(w):
    text = open(w.config).read()
    w.write("broken.yaml", text.replace("password_file: '%s/gnmi'" % w.dir, "password: %s" % SECRETS["inline"]) + "rolle: [\n")
    files, missing = w.bundle("broken.tar.gz", "-c", w.path("broken.yaml"))
    check("config-effective.yaml" in missing and "status.txt" in files and "case/samples.tsv" in files, "broken configuration: %s" % missing)
    with open(w.db, "rb") as f:
        data = bytearray(f.read())
    data[100:200000] = os.urandom(199900)
    with open(w.path("damaged.db"), "wb") as f:
        f.write(data)
    files, missing = w.bundle("damaged.tar.gz", "-c", w.config, "--db", w.path("damaged.db"))
    check("case/" in missing and "system.txt" in files and "config-file.yaml" in files, "damaged database: %s" % missing)
    files, missing = w.bundle("missing.tar.gz", "-c", w.config, "--db", w.path("none.db"))
    check("No such file" in missing["incidents.json"] and "system.txt" in files, "missing database: %s" % missing)


def names(w):
    taken = w.path("whole.tar.gz")
    before = os.path.getsize(taken)
    said = w.run("support-bundle", "--db", w.db, "--out", taken, code=1).stderr
    check("exists already" in said and os.path.getsize(taken) == before, "a file was overwritten: " + said)
    os.symlink(w.path("elsewhere"), w.path("link.tar.gz"))
    w.run("support-bundle", "--db", w.db, "--out", w.path("link.tar.gz"), code=1)
    check(not os.path.exists(w.path("elsewhere")), "a link was followed")
    w.run("support-bundle", "--db", w.db, "--out", w.path("no/such/x.tar.gz"), code=1)
    w.run("support-bundle", "--db", w.db, code=2)
    plan = json.loads(w.run("support-bundle", "--dry-run", "--format", "json", "--out", w.path("dry.tar.gz")).stdout)
    check({"case/", "log.txt", "doctor.json"} <= {p["name"] for p in plan["parts"]} and not os.path.exists(w.path("dry.tar.gz")), "--dry-run: %s" % plan)


def main():
    with tempfile.TemporaryDirectory(prefix="rw-bundle-") as work:
        w = World(work)
        for part in (whole, one_incident, anonymous, broken, names):
            part(w)
            print("ok  ", part.__name__)


main()
