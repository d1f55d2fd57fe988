"""Programs that others wrote, built with Go from pinned versions into BUILD/interop, for the interop tests and the gNMI bench. Go's own
caches make the second time quick; the first takes minutes. Nothing of theirs is kept in this tree."""
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent

# What is built: module, version, package, and build tags. The newest that can be built from modules alone: gnmic's
# tags after this one are of a source that uses newer parts of its own modules pkg/api and pkg/cache than are published.
PEERS = {
    "gnmi_target": ("github.com/google/gnxi", "v0.0.0-20231031154548-557d8e211020", "github.com/google/gnxi/gnmi_target", ""),
    "fake_server": ("github.com/openconfig/gnmi", "v0.14.1", "github.com/openconfig/gnmi/testing/fake/gnmi/cmd/fake_server", ""),
    "cache_server": ("github.com/openconfig/gnmi", "v0.14.1", "rocewatch.test/cache_server", ""),
    "gnmic": ("github.com/openconfig/gnmic", "v0.37.0", "github.com/openconfig/gnmic", ""),
    "telegraf": ("github.com/influxdata/telegraf", "v1.37.2", "github.com/influxdata/telegraf/cmd/telegraf",
                 "custom,inputs.gnmi,outputs.discard"),
}
# gnmic needs gomplate, whose template functions for addresses need a module that is not served any more. They are not called here; this
# stands in for it.
NETADDR = """package netaddr

import (
	"errors"
	"net"
	"net/netip"
)

type IP struct{ netip.Addr }
type IPPrefix struct{ netip.Prefix }
type IPRange struct{}

var errAbsent = errors.New("inet.af/netaddr is not here")

func ParseIP(string) (IP, error)             { return IP{}, errAbsent }
func ParseIPPrefix(string) (IPPrefix, error) { return IPPrefix{}, errAbsent }
func ParseIPRange(string) (IPRange, error)   { return IPRange{}, errAbsent }
func (p IPPrefix) Masked() IPPrefix          { return p }
func (p IPPrefix) IPNet() *net.IPNet         { return nil }
"""


class Unavailable(Exception):
    """No Go, or its modules cannot be fetched: a reason to skip, not a fault."""


def go():
    found = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not found:
        raise Unavailable("Go is not here (no 'go' in PATH or /usr/local/go/bin)")
    return found


def go_run(folder, *args):
    env = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off")
    p = subprocess.run([go(), *args], cwd=folder, env=env, capture_output=True, text=True)
    if p.returncode == 0:
        return p.stdout.strip()
    lines = [line for line in p.stderr.splitlines() if line and not line.startswith("go: downloading")]
    text = "\n".join(lines[-8:])
    if any(w in text for w in ("dial tcp", "reading http", "no such host", "i/o timeout", "module lookup disabled", "GOPROXY=off")):
        raise Unavailable("its modules cannot be fetched: " + text)
    raise RuntimeError("go %s failed:\n%s" % (" ".join(args), text))


def build(build_dir, name):
    """The program's path; built when its version is not there yet."""
    module, version, package, tags = PEERS[name]
    out = pathlib.Path(build_dir) / "interop"
    program = out / ("%s-%s" % (name, version.rsplit("-", 1)[-1]))
    folder = out / "src" / name
    if name == "cache_server":
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(HERE / "cache_server", folder)
    elif program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    if name != "cache_server":
        (folder / "go.mod").write_text("module rocewatch.test/%s\n\ngo 1.23\n\nrequire %s %s\n" % (name, module, version))
    if name == "gnmic":
        (folder / "netaddr").mkdir(exist_ok=True)
        (folder / "netaddr/netaddr.go").write_text(NETADDR)
        (folder / "netaddr/go.mod").write_text("module inet.af/netaddr\n")
        with open(folder / "go.mod", "a") as f:
            f.write("\nreplace inet.af/netaddr => ./netaddr\n")
    print("building %s %s (%s)" % (name, version, package), flush=True)
    go_run(folder, "build", "-trimpath", *(["-tags", tags] if tags else []), "-o", str(program), package)
    return program


def version(name):
    return "%s %s" % PEERS[name][:2]


if __name__ == "__main__":  # peers.py BUILD NAME: where it is, for scripts; exit 77 when it is not to be had
    import sys
    try:
        sys.stdout = sys.stderr
        path = build(sys.argv[1], sys.argv[2])
        sys.stdout = sys.__stdout__
        print(path)
    except Unavailable as e:
        sys.exit((print("%s: %s" % (sys.argv[2], e), file=sys.stderr), 77)[1])
