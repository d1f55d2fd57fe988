"""`rocewatch web` as a Python object, for tests that ask it. Standard library only."""
import contextlib, http.client, json, os, signal, socket, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import HANG_S, Limit  # noqa: E402


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def wait_for(what, condition, deadline_s=90, every_s=0.05):
    limit = Limit(deadline_s)
    while True:
        value = condition()
        if value:
            return value
        check(not limit.over(), "%s: not after %s" % (what, limit))
        time.sleep(every_s)


class Web:
    """One server on a free port. @options go before the word web, @more behind it."""
    def __init__(self, build, options, more=(), listen="127.0.0.1:0", env=None):
        self.dir = tempfile.mkdtemp(prefix="rw-web-")
        self.binary = os.path.join(os.path.realpath(build), "rocewatch")
        self.log = os.path.join(self.dir, "log")
        port_file = os.path.join(self.dir, "port")
        with open(self.log, "w") as out:
            self.process = subprocess.Popen([self.binary, *options, "web", "--listen", listen, "--port-file", port_file, *more],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env)
        try:
            wait_for("a port", lambda: os.path.exists(port_file) or self.process.poll() is not None)
            check(self.process.poll() is None, "the server ended: %s" % self.text())
        except Failed:
            self.kill()
            raise
        with open(port_file) as f:
            self.port = int(f.read())

    def text(self):
        with open(self.log) as f:
            return f.read()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self):
        """In order, with exit code 0 and nothing said by a sanitizer."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("the server did not stop: %s" % self.text())
        check(code == 0, "exit code %d: %s" % (code, self.text()))
        check("anitizer" not in self.text(), self.text())

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind:
            self.kill()
        else:
            self.stop()

    def connect(self, timeout=HANG_S):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def get(self, path, method="GET", headers=None, timeout=HANG_S):
        """(status, headers, body); a connection of its own."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)) as connection:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()

    def json(self, path, **more):
        status, headers, body = self.get(path, **more)
        check(status == 200, "%s: %d %s" % (path, status, body[:300]))
        return json.loads(body)

    def raw(self, data, timeout=HANG_S):
        """Sends bytes and returns all that comes until the server closes or is silent for @timeout."""
        with self.connect(timeout) as s:
            s.sendall(data)
            return read_all(s)


def read_all(s):
    got = b""
    with contextlib.suppress(OSError):
        while True:
            part = s.recv(65536)
            if not part:
                break
            got += part
    return got
