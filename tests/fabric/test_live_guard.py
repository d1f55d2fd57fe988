#!/usr/bin/env python3
"""test_live_guard.py BUILD UNIT - a live agent and its web server as somebody would find them who wants in: which walls stand, whether their
memory can be read by others of the same user, and how often a community that was read for polling is in it. The agent runs behind the
filter of system calls that the systemd unit UNIT asks for."""
import ctypes, errno, os, re, shutil, signal, socket, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import SKIP, Failed, Live, check, sanitized as is_sanitized, wait_for
from ports import free_port

WEB_TOKEN = "5ad7c0e19b44f0237e6611d8a90bd2f3"
# What net-snmp keeps: one copy a session, and what is left of the messages that it sent. Ours is one a target, in locked memory.
LIBRARY_PER_TARGET = 8


def group(name):
    """The system calls of a group of systemd's, groups in it included."""
    p = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True, check=True)
    calls = set()
    for word in re.sub("\x1b\\[[0-9;]*m", "", p.stdout).split("\n"):  # systemd 255 colours what goes into a pipe
        word = word.strip()
        if word.startswith("@") and word != name:
            calls |= group(word)
        elif word and word[0] not in "@#":
            calls.add(word)
    return calls


def unit_calls(unit):
    """What SystemCallFilter= lets pass, line after line as systemd.exec(5) has it; None where there is no systemd."""
    if not shutil.which("systemd-analyze"):
        return None
    allowed = group("@default")
    with open(unit) as f:
        lines = [line.split("=", 1)[1].strip() for line in f if line.startswith("SystemCallFilter=")]
    check(lines and not lines[0].startswith("~"), "%s: no list of what is allowed" % unit)
    for line in lines:
        names = set()
        for word in line.lstrip("~").split():
            names |= group(word) if word.startswith("@") else {word}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return allowed


def behind(calls):
    """For preexec_fn: what is not in @calls fails with EPERM, as in the unit."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    numbers = [library.seccomp_syscall_resolve_name(name.encode()) for name in calls]

    def enter():
        context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(0x00050000 | errno.EPERM)))
        for number in numbers:
            library.seccomp_rule_add(context, ctypes.c_uint32(0x7FFF0000), number, 0)
        if library.seccomp_load(context) != 0:
            os._exit(99)

    return enter


def status(pid):
    with open("/proc/%d/status" % pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


def memory(pid):
    """Each readable and writable mapping: its first line of maps, and its bytes."""
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", buffering=0) as mem:
        for line in maps:
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if not m:
                continue
            low, high = int(m[1], 16), int(m[2], 16)
            if high - low > 1 << 30:
                continue  # shadow memory of a sanitizer
            mem.seek(low)
            try:
                yield line, mem.read(high - low)
            except OSError:
                continue


def copies(pid, text):
    found = {}
    for line, content in memory(pid):
        n = content.count(text.encode())
        if n:
            found[line.split()[-1] if len(line.split()) > 5 else "anonymous"] = found.get(line.split()[-1], 0) + n
    return found


def locked_kib(pid):
    return int(status(pid)["VmLck"].split()[0])


def walls(pid, what, sanitized):
    s = status(pid)
    check(s["Seccomp"] == "2", "%s: no filter of system calls: %s" % (what, s["Seccomp"]))
    check(s["NoNewPrivs"] == "1", "%s may get new rights" % what)
    check(int(s["CapEff"], 16) == 0 and int(s["CapPrm"], 16) == 0, "%s has capabilities: %s" % (what, s["CapEff"]))
    with open("/proc/%d/limits" % pid) as f:
        core = [line for line in f if line.startswith("Max core file size")][0].split()
    check(core[4:6] == ["0", "0"], "%s: core limit %s" % (what, core))
    if sanitized:
        return  # the leak checker traces its own process
    check(os.stat("/proc/%d/environ" % pid).st_uid == 0, "the memory of %s belongs to its user" % what)
    if s["Uid"].split()[0] != "0":
        p = subprocess.run(["head", "-c", "1", "/proc/%d/environ" % pid], user=int(s["Uid"].split()[0]), capture_output=True)
        check(p.returncode != 0, "%s can be read by others of its user" % what)


def web_page(port, token):
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n" % token.encode())
        answer = b""
        while chunk := s.recv(65536):
            answer += chunk
        return answer.split(b"\r\n", 1)[0].decode()


def configure(lab, port):
    """The lab's configuration with a web server beside it; its community is what the file of the lab says."""
    tokens = os.path.join(lab.dir, "tokens")
    with open(tokens, "w") as f:
        f.write(WEB_TOKEN + "\n")
    os.chmod(tokens, 0o600)
    with open(lab.config) as f:
        text = f.read()
    with open(lab.config, "w") as f:
        f.write(text + "\nhttp: { listen: '127.0.0.1:%d', tokens_file: '%s' }\n" % (port, tokens))
    files = re.findall(r"community_file: ['\"]?([^'\",}\s]+)", text)
    check(files, "no community_file in %s" % lab.config)
    with open(files[0] if files[0].startswith("/") else os.path.join(lab.dir, files[0])) as f:
        return f.read().strip()


def log(lab):
    with open(lab.dir + ".agent.log") as f:
        return f.read()


def doctor(lab):
    p = subprocess.run([lab.binary, "-c", lab.config, "doctor", "--format", "json"], capture_output=True, text=True)
    return re.sub(r"\s+", " ", p.stdout)


def lives(lab):
    code = lab.agent_process.poll()
    check(code is None, "the agent ended with %s (-31 is a refused system call): %s" % (code, log(lab)[-600:]))
    return True


def start(lab, unit, sanitized):
    calls = unit_calls(unit)
    if calls is None or sanitized:
        print("the agent runs without the unit's filter: no systemd here, or the calls of a sanitizer")
        return lab.agent()
    with open(lab.dir + ".agent.log", "w") as out:
        lab.agent_process = subprocess.Popen([lab.binary, "-c", lab.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                             preexec_fn=behind(calls))
    wait_for("the agent's store", lambda: lives(lab) and os.path.exists(os.path.join(lab.dir, "rocewatch.db")), 30)


def test(lab, unit):
    sanitized = is_sanitized(lab.binary)
    port = free_port()
    community = configure(lab, port)
    start(lab, unit, sanitized)
    pid = lab.agent_process.pid
    wait_for("polls", lambda: lives(lab) and lab.sql("SELECT count(*) n FROM samples")[0]["n"] not in ("", "0"), 60)
    web = wait_for("the web server", lambda: children(pid), 60)[0]
    wait_for("an answer", lambda: web_answers(port), 60)
    walls(pid, "the agent", sanitized)
    walls(web, "the web server", sanitized)
    check("sandbox refuses" not in log(lab) and "Landlock" not in log(lab), "the walls: %s" % log(lab)[-600:])
    wait_for("doctor tells of the walls", lambda: '"sandbox": "system calls and files"' in doctor(lab), 60)
    for process, what in ((pid, "the agent"), (web, "the web server")):
        check(sanitized or locked_kib(process) >= 16, "%s has locked no memory" % what)
    with open(lab.config) as f:
        targets = f.read().count("snmp: { address:")
    wait_for("each switch to answer", lambda: lab.sql("SELECT count(DISTINCT device) n FROM samples WHERE metric = 'port.in_octets'")[0]["n"] == str(targets), 60)
    found = copies(pid, community)
    print("copies of the community in the agent, %d targets: %s" % (targets, found))
    if not sanitized:
        check(found.get("anonymous", 0) <= targets, "our copies of the community: %s for %d targets" % (found, targets))
        check(sum(found.values()) <= targets * (1 + LIBRARY_PER_TARGET), "copies of the community: %s for %d targets" % (found, targets))
    check(not copies(web, community), "the web server holds the community")
    held = copies(web, WEB_TOKEN)
    print("copies of the token in the web server after a request: %s" % held)
    check(not copies(pid, WEB_TOKEN), "the agent holds the token of the web server")
    if not sanitized and os.access("/root", os.W_OK) and not os.path.realpath(lab.binary).startswith("/root/"):
        names_a_file_elsewhere(lab)


def names_a_file_elsewhere(lab):
    """A reload names a file that the start did not open a way to: the log says what to do."""
    elsewhere = tempfile.mkdtemp(prefix="live-guard-", dir="/root")
    try:
        reload_with(lab, elsewhere)
    finally:
        shutil.rmtree(elsewhere)


def reload_with(lab, elsewhere):
    with open(os.path.join(elsewhere, "community"), "w") as f:
        f.write("other\n")
    os.chmod(f.name, 0o600)
    with open(lab.config) as f:
        text = f.read()
    with open(lab.config, "w") as f:
        f.write(text.replace("credentials:\n", "credentials:\n  other: { snmp: { version: 2c, community_file: '%s/community' } }\n" % elsewhere))
    lab.agent_process.send_signal(signal.SIGHUP)
    wait_for("the log says that a restart is needed", lambda: lives(lab) and "was not in use when this process started" in log(lab), 30)


def web_answers(port):
    try:
        return " 200 " in web_page(port, WEB_TOKEN) + " "
    except OSError:
        return False


def main(build, unit):
    if os.geteuid() != 0:
        print("needs root, to look into the memory of another process")
        return SKIP
    directory = tempfile.mkdtemp(prefix="live-guard-")
    lab = Live(build, os.path.join(directory, "healthy"), "healthy")
    try:
        lab.start()
        lab.served()
        test(lab, unit)
        print("test_live_guard: ok")
        return 0
    except Failed as e:
        print("test_live_guard: %s" % e)
        return 1
    finally:
        Live.stop([lab])
        if "KEEP" not in os.environ:
            shutil.rmtree(directory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
