#!/usr/bin/env python3
"""secrets.py ROCEWATCH - a configuration in which every secret is a known word: no command, no error, no log line and no stored byte
repeats one of them, whether the configuration is right, broken in turn at each line, or put in force by an agent that reaches nobody."""
import os, re, subprocess, sys, tempfile

SECRETS = {name: "Zq7" + name + "SecretWord" for name in
           ("community", "auth", "priv", "gnmipass", "gnmitoken", "hookpass", "hooktoken", "hmac")}
FILES = {name: name + ".secret" for name in SECRETS}

CONFIG = """fabric: pod-a
store: { path: %(dir)s/rw.db }
defaults: { interval: 1s }
credentials:
  old:
    snmp:
      version: 2c
      community_file: %(dir)s/community.secret
    gnmi:
      username: admin
      password_file: %(dir)s/gnmipass.secret
  new:
    snmp:
      version: 3
      user: watcher
      auth: sha256
      auth_file: %(dir)s/auth.secret
      priv: aes128
      priv_file: %(dir)s/priv.secret
    gnmi:
      token_file: %(dir)s/gnmitoken.secret
devices:
  - { name: leaf1, role: leaf, snmp: { address: "127.0.0.1:1", credentials: old }, gnmi: { address: "127.0.0.1:1", credentials: old } }
  - { name: leaf2, role: leaf, snmp: { address: "127.0.0.1:1", credentials: new }, gnmi: { address: "127.0.0.1:1", credentials: new } }
links: []
alerts:
  webhook:
    - name: one
      url: http://127.0.0.1:1/x
      secret_file: %(dir)s/hmac.secret
      username: me
      password_file: %(dir)s/hookpass.secret
    - name: two
      url: http://127.0.0.1:1/y
      token_file: %(dir)s/hooktoken.secret
"""


def run(program, folder, *words, seconds=30):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
    try:
        return subprocess.run([program, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env=env)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(words, 124, late.stdout or b"", late.stderr or b"")


def look(faults, what, data):
    for name, word in SECRETS.items():
        for form in (word, word[:-2]):
            if form.encode() in data:
                at = data.find(form.encode())
                faults.append("%s repeats the %s: %r" % (what, name, data[max(0, at - 60):at + 30]))


def broken(text):
    """Each line in turn: cut short, of another kind, with the secret itself where its reference stands."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        yield "\n".join(lines[:i] + [line[:len(line) // 2]] + lines[i + 1:])
        yield "\n".join(lines[:i] + [re.sub(r":\s.*", ": [x, {y: 1}]", line)] + lines[i + 1:])
        for name, word in SECRETS.items():
            if FILES[name] in line: # the secret where its reference should stand, and under the key that people try first
                yield "\n".join(lines[:i] + [re.sub(r": .*", ": " + word, line)] + lines[i + 1:])
                yield "\n".join(lines[:i] + [re.sub(r"_file: .*", ": " + word, line)] + lines[i + 1:])
                yield "\n".join(lines[:i] + [re.sub(r"_file: .*", "_env: " + word, line)] + lines[i + 1:])
                yield "\n".join(lines[:i] + [re.sub(r"_file: .*", ": [ " + word, line)] + lines[i + 1:])


def main():
    program = os.path.abspath(sys.argv[1])
    faults = []
    with tempfile.TemporaryDirectory(prefix="rw-secrets-") as folder:
        for name, word in SECRETS.items():
            path = os.path.join(folder, FILES[name])
            with open(path, "w") as out:
                out.write(word + "\n")
            os.chmod(path, 0o600)
        text = CONFIG % {"dir": folder}
        config = os.path.join(folder, "rw.yaml")
        with open(config, "w") as out:
            out.write(text)
        os.chmod(config, 0o600)
        p = run(program, folder, "-c", config, "config", "check")
        if p.returncode != 0:
            print("the configuration is refused:\n" + p.stdout.decode() + p.stderr.decode())
            return 1
        asked = 0
        for words in (["config", "show"], ["config", "show", "--format", "json"], ["config", "check"], ["config", "check", "--format", "json"],
                      ["-v", "config", "check"], ["topology", "discover", "--deadline", "1s"], ["topology", "show"],
                      ["profile", "test", "leaf1", "--for", "1s", "--timeout", "1s"], ["-v", "agent", "--for", "4s"], ["status"], ["doctor"], ["alert", "test", "one"],
                      ["alert", "test", "two"], ["alert", "list", "--format", "json"], ["profile", "test", "leaf2", "--protocol", "gnmi", "--for", "1s"],
                      ["query", "sql", "SELECT * FROM config_history", "--format", "csv"], ["metrics"]):
            p = run(program, folder, "-c", config, *words)
            asked += 1
            look(faults, " ".join(words), p.stdout + p.stderr)
        wrong = os.path.join(folder, "wrong.yaml")
        for variant in broken(text):
            with open(wrong, "w") as out:
                out.write(variant)
            os.chmod(wrong, 0o600)
            # what `config show` repeats are references, whatever was written as one
            for words in (["config", "check", wrong],):
                p = run(program, folder, *words)
                asked += 1
                look(faults, "%s of line %s" % (" ".join(words[:2]), next((a for a, b in zip(variant.splitlines(), text.splitlines()) if a != b), "")), p.stdout + p.stderr)
        for name in os.listdir(folder):
            if name.endswith(".secret") or name in ("rw.yaml", "wrong.yaml"):
                continue
            with open(os.path.join(folder, name), "rb") as file:
                look(faults, "the file " + name, file.read()) if os.path.isfile(file.name) else None
    print("%d answers, %d faults" % (asked, len(faults)))
    for fault in faults[:10]:
        print(fault[-700:])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
