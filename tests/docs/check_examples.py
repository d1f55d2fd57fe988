#!/usr/bin/env python3
"""check_examples.py ROCEWATCH PAGE - every yaml block of the page that begins with 'alerts:' is a configuration that 'rocewatch config check' accepts.
Files that it names below /etc/rocewatch are made."""
import os, re, subprocess, sys, tempfile

HEAD = """devices:
  - { name: leaf1, snmp: { address: 192.0.2.11, credentials: ro } }
credentials:
  ro: { snmp: { version: 2c, community_env: COMMUNITY } }
"""

program, page = sys.argv[1:]
with open(page) as f:
    blocks = re.findall(r"```yaml\n(alerts:.*?)```", f.read(), re.S)
if len(blocks) < 6:
    sys.exit("%s: %d examples, expected one for each kind of receiver" % (page, len(blocks)))
wrong = 0
with tempfile.TemporaryDirectory() as work:
    for block in blocks:
        for path in re.findall(r"/etc/rocewatch/[\w.]+", block):
            with open(os.path.join(work, os.path.basename(path)), "w") as f:
                f.write("x\n")
            os.chmod(f.name, 0o600)
        config = os.path.join(work, "rocewatch.yaml")
        with open(config, "w") as f:
            f.write(HEAD + block.replace("/etc/rocewatch", work))
        p = subprocess.run([program, "config", "check", config], capture_output=True, text=True)
        if p.returncode or "warning" in p.stderr:
            print("exit %d\n%s\n%s" % (p.returncode, p.stderr, block))
            wrong += 1
sys.exit(bool(wrong))
