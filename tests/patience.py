"""How long a test waits for what has to come: the one place for limits of time.

A limit is that of an idle machine. It is stretched by three, because a limit only decides how long a failure takes to be told, and by what the
machine does at this moment: with 30 processes that want two processors each of them is 15 times as slow. What is there is seen at once all the same.
tests/patience.h is the same for C."""
import os
import time

SPARE = 3
HANG_S = 900  # a program, or an answer, that has not come by then never comes; nothing is judged by it


def stretched(seconds):
    """@seconds of an idle machine, on this one, now."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * SPARE * max(1.0, busy)


class Limit:
    """over() is true when the time is up; asked again it looks at the load again."""

    def __init__(self, seconds):
        self.seconds, self.begin = seconds, time.monotonic()

    def over(self):
        return time.monotonic() - self.begin > stretched(self.seconds)

    def __str__(self):
        return "%.0f s (limit %.0f s)" % (time.monotonic() - self.begin, stretched(self.seconds))
