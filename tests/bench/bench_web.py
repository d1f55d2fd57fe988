"""What `rocewatch web` costs with a database of 64 switches x 64 ports that is written every second: bench_web.py BUILD [SECONDS].
CPU of the server with ten event streams, the age of an event, and requests per second for what is made and for what is kept."""
import contextlib, http.client, os, shutil, subprocess, sys, tempfile, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "web"))
from web_server import Web, check, wait_for

STREAMS = 10


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(l.split()[1]) / 1024 for l in f if l.startswith("VmRSS"))


def read_stream(port, frames):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", "/api/v1/events")
    answer = connection.getresponse()
    with contextlib.suppress(Exception):
        while True:
            line = answer.readline()
            if not line:
                break
            if line.startswith(b"data: {\"fabric\""):
                frames.append((time.monotonic(), len(line)))


def requests_per_s(port, path, seconds, clients=4):
    done = []

    def one():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        n, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            connection.request("GET", path)
            answer = connection.getresponse()
            check(len(answer.read()) > 0 and answer.status == 200, path)
            n += 1
        done.append(n)

    threads = [threading.Thread(target=one) for _ in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sum(done) / seconds


def main():
    build, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    directory = tempfile.mkdtemp(prefix="rw-bench-web-")
    db = os.path.join(directory, "big.db")
    writer = subprocess.Popen([os.path.join(build, "tests/bench/bench_web"), db, str(2 * seconds + 60)], stdout=subprocess.PIPE, text=True)
    try:
        check(writer.stdout.readline() == "ready\n", "no database")
        with Web(build, ["--db", db]) as web:
            pid = web.process.pid
            for path in ("/api/v1/watch", "/api/v1/ecmp/heatmap", "/api/v1/pause/ports", "/api/v1/status", "/metrics", "/api/v1/topology/show"):
                begin = time.monotonic()
                n = len(web.get(path)[2])
                print("%-28s %7.0f kB in %5.0f ms" % (path, n / 1000, (time.monotonic() - begin) * 1000))
            streams = [[] for _ in range(STREAMS)]
            for frames in streams:
                threading.Thread(target=read_stream, args=(web.port, frames), daemon=True).start()
            wait_for("frames", lambda: all(streams), 60)
            before, begin, had = cpu_s(pid), time.monotonic(), len(streams[0])
            time.sleep(seconds)
            used, span, got = cpu_s(pid) - before, time.monotonic() - begin, len(streams[0]) - had
            print("%d streams for %.0f s: %.1f frames/s of %.1f kB, CPU %.1f %% of a core, %.0f MB" %
                  (STREAMS, span, got / span, streams[0][-1][1] / 1000, 100 * used / span, rss_mb(pid)))
            for path in ("/dygraph.min.js", "/api/v1/watch", "/api/v1/status"):
                before = cpu_s(pid)
                rate = requests_per_s(web.port, path, 3)
                print("%-28s %7.0f requests/s, CPU %.0f %%" % (path, rate, 100 * (cpu_s(pid) - before) / 3))
    finally:
        writer.kill()
        writer.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
