"""Serves the page with made-up documents, for what a real server cannot show in a short test: 64 x 64 switches, hostile names, a server
that hangs. The files, the addresses and the headers are those of `rocewatch web`. Standard library only."""
import json, os, threading, time, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
VENDOR = os.environ.get("RW_DYGRAPHS", "/usr/share/javascript/dygraphs")


class PageServer:
    """@documents(path, query) returns a JSON value, or an int: the HTTP status of an error. @interval_s: distance of the frames of the
    stream; None: no stream is served. .hang: no frames any more, though the stream stays open."""
    def __init__(self, web, documents, interval_s=0.5, port=0):
        self.web, self.documents, self.interval_s, self.hang, self.closing = os.path.realpath(web), documents, interval_s, False, False
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                outer.answer(self)

        ThreadingHTTPServer.request_queue_size = 64
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d/" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True)
        self.thread.start()

    def close(self):
        self.closing = True
        self.server.shutdown()
        self.server.server_close()

    def send(self, request, status, kind, body):
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.send_header("Content-Security-Policy", POLICY)
        request.send_header("X-Content-Type-Options", "nosniff")
        request.end_headers()
        request.wfile.write(body)

    def answer(self, request):
        if self.closing:  # a connection from before: as if the process were gone
            request.close_connection = True
            return
        url = urllib.parse.urlsplit(request.path)
        self.requests.append(request.path)
        try:
            if url.path == "/api/v1/events":
                self.events(request)
            elif url.path.startswith("/api/v1/"):
                self.document(request, url.path[len("/api/v1/"):], dict(urllib.parse.parse_qsl(url.query)))
            else:
                self.file(request, url.path)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def file(self, request, path):
        name = "index.html" if path == "/" else path.lstrip("/")
        root = self.web
        if name.startswith("dygraph.min."):
            root = VENDOR
        elif name.startswith("tests/"):
            root, name = os.path.dirname(os.path.realpath(__file__)), name[len("tests/"):]
        full = os.path.realpath(os.path.join(root, name))
        if not any(full.startswith(os.path.realpath(r) + os.sep) for r in (root, VENDOR)) or not os.path.isfile(full):
            return self.send(request, 404, "text/plain", b"not found")
        with open(full, "rb") as f:
            self.send(request, 200, TYPES.get(os.path.splitext(full)[1], "application/octet-stream"), f.read())

    def document(self, request, path, query):
        value = self.documents(path, query)
        if isinstance(value, int):
            return self.send(request, value, "application/json", json.dumps({"error": "no such document: " + path}).encode())
        self.send(request, 200, "application/json", json.dumps(value).encode())

    def events(self, request):
        if self.interval_s is None:
            return self.send(request, 404, "application/json", b"{}")
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        while not self.closing:
            if not self.hang:
                frame = self.documents("watch", {})
                if isinstance(frame, int):
                    return
                request.wfile.write(b"event: watch\ndata: " + json.dumps(frame).encode() + b"\n\n")
                request.wfile.flush()
            time.sleep(self.interval_s)
