"""samples_db - statements on the documented views of a database, for tests: by Debian's sqlite3 shell with the loadable extension, since
not every Python may load one. Texts, numbers and None come as they are."""
import json
import os
import subprocess
from patience import HANG_S  # noqa: E402


def extension_of(program):
    """rocewatch_sqlite.so lies beside the program in the build directory."""
    return os.path.join(os.path.dirname(os.path.abspath(program)), "rocewatch_sqlite")


def rows(program, path, statement, timeout=HANG_S):
    """[tuple, ...]; OSError when the statement fails (a database that is not made yet, for one)."""
    p = subprocess.run(["sqlite3", "-readonly", "-json", "-cmd", ".timeout 10000", "-cmd", ".load " + extension_of(program), str(path), statement],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    if p.returncode != 0:
        raise OSError(p.stderr.strip())
    return [tuple(r.values()) for r in json.loads(p.stdout)] if p.stdout.strip() else []
