"""The agent and the web server it starts, on a live lab: health, frames that move on, a server that is killed
comes back, tokens by SIGHUP, and no server is left behind by an agent that is killed. test_live_web.py BUILD"""
import contextlib, http.client, json, os, shutil, signal, subprocess, sys, tempfile, threading

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "fabric")]
from live_lab import Failed, Live, check, wait_for
from ports import free_port
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

TOKEN = "a-token-of-thirty-two-characters"


class Site:
    def __init__(self, build, directory):
        self.binary = os.path.join(os.path.realpath(build), "rocewatch")
        self.lab = Live(build, os.path.join(directory, "lab"), "pfc-storm", face="sonic-gnmi", at="15s")
        self.lab.start()
        wait_for("the lab", lambda: os.path.exists(self.lab.config) and "serving" in open(self.lab.dir + ".lab.log").read(), 60)
        self.port = free_port()
        with open(self.lab.config) as f:
            self.config = f.read()
        self.tokens = os.path.join(directory, "tokens")
        self.write("http: { listen: '127.0.0.1:%d' }" % self.port)
        self.log = os.path.join(directory, "agent.log")
        with open(self.log, "w") as out:
            self.agent = subprocess.Popen([self.binary, "-c", self.lab.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def write(self, http):
        with open(self.lab.config + ".new", "w") as f:
            f.write(self.config + "\n" + http + "\n")
        os.rename(self.lab.config + ".new", self.lab.config)

    def get(self, path, token=None):
        """(status, document); (0, None) when nobody listens."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)) as c:
            try:
                c.request("GET", path, headers={"Authorization": "Bearer " + token} if token else {})
                answer = c.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                return 0, None

    def server(self):
        """The process id of the web server, a child of the agent; None when there is none."""
        with contextlib.suppress(OSError):
            with open("/proc/%d/task/%d/children" % (self.agent.pid, self.agent.pid)) as f:
                for pid in f.read().split():
                    with open("/proc/%s/cmdline" % pid, "rb") as words:
                        if b"\0web\0" in words.read():
                            return int(pid)

    def stop(self):
        for p in (self.agent, self.lab.lab_process):
            if p and p.poll() is None:
                p.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    p.wait(HANG_S)
            if p and p.poll() is None:
                p.kill()
                p.wait()


def read_events(port, events):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)
    c.request("GET", "/api/v1/events")
    answer, event = c.getresponse(), None
    with contextlib.suppress(Exception):
        for line in answer:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                events.append((event, json.loads(line[6:])))


def run(site):
    check(wait_for("health", lambda: site.get("/healthz")[0] == 200, 120), "")
    events = []
    threading.Thread(target=read_events, args=(site.port, events), daemon=True).start()
    frames = lambda: [d for e, d in events if e == "watch"]
    wait_for("frames that move on", lambda: len({f["time"] for f in frames()}) >= 3, 60)
    check(frames()[-1]["agent"]["state"] == "running", str(frames()[-1]["agent"]))
    # Killed: it comes back by itself, and the event is kept.
    first = site.server()
    os.kill(first, signal.SIGKILL)
    wait_for("a new server", lambda: site.server() not in (None, first) and site.get("/healthz")[0] == 200, 60)
    wait_for("the event", lambda: "web_down" in json.dumps(site.get("/api/v1/event/list")[1]), 30)
    # A reload of the agent is one of the server.
    with open(site.tokens, "w") as f:
        f.write("noc %s\n" % TOKEN)
    os.chmod(site.tokens, 0o600)
    site.write("http: { listen: '127.0.0.1:%d', tokens_file: %s }" % (site.port, site.tokens))
    site.agent.send_signal(signal.SIGHUP)
    wait_for("tokens", lambda: site.get("/api/v1/status")[0] == 401, 60)
    wait_for("the token", lambda: site.get("/api/v1/status", TOKEN)[0] == 200, 60)
    # With a mistake in the file a new server takes the configuration in force: the tokens count on.
    site.write("http: { listen: '127.0.0.1:%d' }\nrolle: x" % site.port)
    second = site.server()
    os.kill(second, signal.SIGKILL)
    wait_for("a server without a file", lambda: site.server() not in (None, second) and site.get("/api/v1/status", TOKEN)[0] == 200, 90)
    check(site.get("/api/v1/status")[0] == 401, "no token is asked for, since the file has a mistake")
    # An agent that is killed leaves nothing behind.
    last = wait_for("the server", site.server, 30)
    site.agent.kill()
    site.agent.wait()
    wait_for("the end of the server", lambda: not os.path.exists("/proc/%d" % last) or site.get("/healthz")[0] == 0, 30)


def main():
    directory = tempfile.mkdtemp(prefix="rw-live-web-")
    site = None
    try:
        site = Site(sys.argv[1], directory)
        run(site)
        print("ok")
        return 0
    except Failed as e:
        print("FAIL %s" % e)
        if site and os.path.exists(site.log):
            with open(site.log) as f:
                print(f.read()[-3000:])
        return 1
    finally:
        if site:
            site.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
