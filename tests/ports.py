"""A port for a server of a test. The one place: eight tests had a function of their own, which asked the kernel for any free port. The kernel gives
the same numbers to outgoing connections, so that the port could be gone by the time the server asked for it."""
import random
import socket

FIRST, LAST = 12000, 31999  # below what the kernel gives to outgoing connections (ip_local_port_range: 32768 and more)
taken = set()


def free_port():
    """A port of 127.0.0.1 at which nobody listens, by TCP nor by UDP; another one each time."""
    while True:
        port = random.SystemRandom().randint(FIRST, LAST)
        if port in taken:
            continue
        taken.add(port)
        try:
            with socket.socket() as stream, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
                stream.bind(("127.0.0.1", port))
                datagram.bind(("127.0.0.1", port))
        except OSError:
            continue
        return port
