"""An encoder of OTLP metrics that shares nothing with the reader: protobuf by hand, after opentelemetry-proto v1 (field numbers of
metrics.proto, common.proto and metrics_service.proto)."""
import struct

CUMULATIVE, DELTA = 2, 1


def varint(value):
    out = b''
    value &= (1 << 64) - 1
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack('<Q', value)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def any_value(value):
    if isinstance(value, bool):
        return number(2, value)
    if isinstance(value, int):
        return number(3, value)
    if isinstance(value, float):
        return varint(4 << 3 | 1) + struct.pack('<d', value)
    return data(1, value.encode())


def attributes(field, labels):
    return b''.join(data(field, data(1, key.encode()) + data(2, any_value(value))) for key, value in labels.items())


def point(value, t_ns, labels, start_ns=0, flags=0):
    out = fixed64(2, start_ns) if start_ns else b''
    out += fixed64(3, t_ns) if t_ns else b''
    if isinstance(value, float):
        out += varint(4 << 3 | 1) + struct.pack('<d', value)
    elif value is not None:
        out += varint(6 << 3 | 1) + struct.pack('<q', value)
    return out + attributes(7, labels) + (number(8, flags) if flags else b'')


def gauge(name, points):
    return data(1, name.encode()) + data(2, b'of a test') + data(5, b''.join(data(1, p) for p in points))


def total(name, points, temporality=CUMULATIVE, monotonic=True):
    return data(1, name.encode()) + data(7, b''.join(data(1, p) for p in points) + number(2, temporality) + number(3, monotonic))


def histogram(name, n):
    return data(1, name.encode()) + data(9, b''.join(data(1, fixed64(3, 1) + fixed64(4, 7)) for _ in range(n)))


def resource(labels, metrics, late=False):
    """late: the resource stands behind its metrics, which protobuf allows."""
    scope = data(2, data(1, data(1, b'test')) + b''.join(data(2, m) for m in metrics))
    told = data(1, attributes(1, labels))
    return scope + told if late else told + scope


def request(*resources):
    return b''.join(data(1, r) for r in resources)


def fields(message):
    """(field, value) of a message: for answers."""
    at = 0
    while at < len(message):
        tag, at = take(message, at)
        if tag & 7 == 0:
            value, at = take(message, at)
        elif tag & 7 == 2:
            n, at = take(message, at)
            value, at = message[at:at + n], at + n
        else:
            raise ValueError('wire type %d' % (tag & 7))
        yield tag >> 3, value


def take(message, at):
    value = shift = 0
    while True:
        value |= (message[at] & 0x7f) << shift
        shift += 7
        at += 1
        if message[at - 1] < 0x80:
            return value, at


def refused(answer):
    """(rejected_data_points, error_message) of an ExportMetricsServiceResponse."""
    for field, value in fields(answer):
        if field == 1:
            inner = dict(fields(value))
            return inner.get(1, 0), inner.get(2, b'').decode()
    return 0, ''
