"""The page of fast_clock.c: how fast time passes for the programs of one simulation, and what their wall clock shows."""
import mmap, os, struct, time

NS = 10**9


class FastClock:
    def __init__(self, path, library, speed, preload=""):
        """@preload: what must be loaded before, a sanitizer's library."""
        self.path, self.speed = path, speed
        self.real0, self.wall0, self.step = time.monotonic_ns(), time.time_ns(), 0
        self.write()
        with open(path, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), 32)
        self.environment = dict(os.environ, LD_PRELOAD=preload + os.path.realpath(library), FAST_CLOCK=path)

    def write(self):
        with open(self.path, "wb") as f:
            f.write(struct.pack("=qqqq", self.speed, self.real0, self.wall0, self.step))

    def passed_ns(self):
        return (time.monotonic_ns() - self.real0) * self.speed

    def passed_s(self):
        return self.passed_ns() / NS

    def wall_ns(self):
        return self.wall0 + self.passed_ns() + self.step

    def set_by(self, seconds):
        """The wall clock of all programs is set forward, or back."""
        self.step += int(seconds * NS)
        self.page[24:32] = struct.pack("=q", self.step)

    def sleep(self, seconds):
        time.sleep(seconds / self.speed)
