"""A mount that hangs: FUSE by its raw protocol (linux/fuse.h), in a mount namespace of this process and what it starts. Of "lost.N" nothing is told, "stuck.N" is a file
whose bytes never come. Whoever asks waits in the kernel until let_go(), which answers with an error."""
import ctypes
import errno
import itertools
import os
import struct
import threading

LOOKUP, GETATTR, OPEN, OPENDIR, INIT, ACCESS = 1, 3, 14, 27, 26, 34
ROOT = 1
MS_PRIVATE_REC, CLONE_NEWNS, MNT_DETACH, FORCE = 1 << 18 | 1 << 14, 0x20000, 2, 1
C = ctypes.CDLL(None, use_errno=True)


def number(name):
    return int(name.split(b".")[1])


def attributes(node):
    return struct.pack("<QQQ QQQ III IIIIIII", node, 4096, 8, 0, 0, 0, 0, 0, 0, 0o40755 if node == ROOT else 0o100600, 1, 0, 0, 0, 4096, 0)


def answer(code, node, name):
    """None: not now."""
    if code == INIT:
        return struct.pack("<IIIIHHII", 7, 31, 65536, 0, 12, 10, 65536, 1) + bytes(32)
    if code == LOOKUP and name.startswith(b"stuck."):
        return struct.pack("<QQQQII", number(name), 0, 3600, 3600, 0, 0) + attributes(number(name))
    if code == GETATTR:
        return struct.pack("<QII", 3600, 0, 0) + attributes(node)
    return {OPEN: struct.pack("<QII", 1, 0, 0), OPENDIR: struct.pack("<QII", 1, 0, 0), ACCESS: b""}.get(code)


class Mount:
    folder, device, names, waits = None, -1, itertools.count(ROOT + 1), {}

    @classmethod
    def begin(cls, folder):
        """None, or why there is none: it takes root and /dev/fuse."""
        os.mkdir(folder)
        try:
            cls.device = os.open("/dev/fuse", os.O_RDWR)
        except OSError as e:
            return str(e)
        options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % cls.device
        if C.unshare(CLONE_NEWNS) or C.mount(b"none", b"/", None, MS_PRIVATE_REC, None) or C.mount(b"hung", folder.encode(), b"fuse", 0, options.encode()):
            os.close(cls.device)
            return os.strerror(ctypes.get_errno())
        cls.folder = folder
        threading.Thread(target=cls.serve, daemon=True).start()
        return None

    @classmethod
    def new(cls, word):
        return os.path.join(cls.folder, "%s.%d" % (word, next(cls.names)))

    @classmethod
    def say(cls, unique, said=b"", code=0):
        os.write(cls.device, struct.pack("<IiQ", 16 + len(said), -code, unique) + said)

    @classmethod
    def serve(cls):
        while True:
            try:
                asked = os.read(cls.device, 1 << 17)
            except OSError:  # the mount is gone
                return
            _, code, unique, node = struct.unpack_from("<IIQQ", asked)
            name = asked[40:].rstrip(b"\0")
            said = answer(code, node, name)
            if said is not None:
                cls.say(unique, said)
            elif code == LOOKUP and b"." not in name:
                cls.say(unique, code=errno.ENOENT)
            else:
                cls.waits.setdefault(number(name) if code == LOOKUP else node, []).append(unique)

    @classmethod
    def let_go(cls, path):
        """All who wait for @path of new()."""
        for unique in cls.waits.pop(number(path.encode()), []):
            try:
                cls.say(unique, code=errno.EIO)
            except OSError:  # it was interrupted
                pass

    @classmethod
    def end(cls):
        if cls.folder:
            C.umount2(cls.folder.encode(), MNT_DETACH | FORCE)
            cls.folder = None
