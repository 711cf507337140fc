#!/usr/bin/env python3
"""A HuggingFace hub on this machine, with the faults of networks and servers.

Sources: the requests and headers of huggingface_hub 2.4 (Apache 2.0), which tests/python/test_hub.py runs against it.
"""
import dataclasses
import fnmatch
import hashlib
import http.server
import json
import pathlib
import re
import ssl
import sys
import threading
import time
import urllib.parse

LARGE = (".safetensors", ".gguf", ".bin")  # endings of the files that the hub keeps apart, in LFS
PAGE = 1000  # files of a page of the list


def git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclasses.dataclass
class File:
    content: bytes
    is_large: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def pointer(self) -> bytes:
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.content)}\n".encode()

    @property
    def git_id(self) -> str:
        return git_id(self.pointer if self.is_large else self.content)

    @property
    def etag(self) -> str:
        return self.sha256 if self.is_large else self.git_id


class Repository:
    """Commits of files. access: "public"; "gated": listed for all, files for those who have `token`; "private": nothing without it."""

    def __init__(self, files: dict[str, bytes], access: str = "public", token: str = "secret") -> None:
        self.access, self.token = access, token
        self.commits: dict[str, dict[str, File]] = {}
        self.revisions: dict[str, str] = {}
        self.commit(files)

    def commit(self, files: dict[str, bytes], revision: str = "main") -> str:
        made = {path: File(content, path.endswith(LARGE)) for path, content in files.items()}
        names = "".join(f"{path} {file.etag}\n" for path, file in sorted(made.items()))
        commit = hashlib.sha1(f"{len(self.commits)} {names}".encode()).hexdigest()
        self.commits[commit] = made
        self.revisions[revision] = commit
        return commit


@dataclasses.dataclass
class Fault:
    """Spoils the next `times` answers to GETs whose path fits the pattern."""
    path: str
    times: int = 1
    status: int = 0  # in place of the answer
    headers: dict[str, str] = dataclasses.field(default_factory=dict)  # added to it, or in place of its own
    cut: int | None = None  # the connection ends after so many bytes of the body
    whole_until_cut: bool = False  # ... and the answer said that these were all
    change: bytes | None = None  # the body, in place of its own; the headers stay
    append: bytes = b""  # sent after the body
    ignores_range: bool = False  # answers with the whole file
    wrong_range: bool = False  # answers with another range than the one asked for
    rate: int = 0  # bytes a second
    stall: float = 0  # seconds without a byte, after the first half
    redirect: str = ""  # to another URL


@dataclasses.dataclass
class Request:
    host: str  # "hub" or "files"
    method: str
    path: str
    headers: dict[str, str]
    time: float = dataclasses.field(default_factory=time.monotonic)


class Hub:
    """The server while a `with` lasts. `endpoint` is for HF_ENDPOINT; large files come from another host and port."""

    def __init__(self, certificate: tuple[str, str] | None = None) -> None:
        self.repositories: dict[str, Repository] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.accepted_tokens = {"secret"}
        self.tree_changes: list[dict] = []  # entries added to each list of files
        self.renamed: dict[str, str] = {}
        self.lock = threading.Lock()
        self.bytes_sent = 0
        self.running = 0
        self.most_running = 0  # answers with content at once
        scheme = "https" if certificate else "http"
        self._servers = []
        for kind in ("hub", "files"):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, kind))
            server.daemon_threads = True
            if certificate:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*certificate)
                server.socket = context.wrap_socket(server.socket, server_side=True)
            self._servers.append(server)
        ports = [server.server_address[1] for server in self._servers]
        self.endpoint = f"{scheme}://127.0.0.1:{ports[0]}"
        self.files_endpoint = f"{scheme}://localhost:{ports[1]}"

    def __enter__(self) -> "Hub":
        for server in self._servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def fault_of(self, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fnmatch.fnmatch(path, fault.path):
                    fault.times -= 1
                    return fault
        return None

    def paths(self, host: str | None = None, method: str = "GET") -> list[str]:
        """Of the requests that arrived."""
        return [r.path for r in self.requests if r.method == method and host in (None, r.host)]


def _handler(hub: Hub, kind: str) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_) -> None:
            pass

        def do_GET(self) -> None:
            self.handle_request()

        def do_HEAD(self) -> None:
            self.handle_request()

        def handle_request(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            with hub.lock:
                hub.requests.append(Request(kind, self.command, self.path, headers))
            url = urllib.parse.urlsplit(self.path)
            self.query = dict(urllib.parse.parse_qsl(url.query))
            self.fault = hub.fault_of(self.path) if self.command == "GET" else None
            if self.fault and self.fault.redirect:
                return self.answer(302, headers={"Location": self.fault.redirect})
            if self.fault and self.fault.status:
                return self.answer(self.fault.status, b"the server has a fault", self.fault.headers)
            path = urllib.parse.unquote(url.path)
            if kind == "files":
                return self.content_of_digest(path.strip("/"))
            if path == "/api/models":
                return self.search()
            if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
                return self.info(*found.groups())
            if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", path):
                return self.tree(*found.groups())
            if found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", urllib.parse.unquote(url.path)):
                return self.resolve(*found.groups())
            self.refuse(404, "", "no such page")

        # ---- what is asked

        def repository(self, name: str, needs_files: bool) -> Repository | None:
            """None after an answer that refuses."""
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if token and token not in hub.accepted_tokens:
                self.refuse(401, "", "Invalid credentials in Authorization header")
                return None
            found = hub.repositories.get(name)
            may = found is not None and (found.access == "public" or token == found.token)
            if found is None or (found.access == "private" and not may):
                # The hub does not say which names there are to those who have no token.
                if token:
                    self.refuse(404, "RepoNotFound", "Repository not found")
                else:
                    self.refuse(401, "RepoNotFound", "Invalid username or password.")
                return None
            if needs_files and not may:
                self.refuse(403 if token else 401, "GatedRepo", f"Access to model {name} is restricted.")
                return None
            return found

        def commit_of(self, name: str, revision: str, needs_files: bool) -> tuple[str, dict[str, File]] | None:
            found = self.repository(name, needs_files)
            if found is None:
                return None
            commit = found.revisions.get(revision, revision)
            if commit not in found.commits:
                self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
                return None
            return commit, found.commits[commit]

        def search(self) -> None:
            words = self.query.get("search", "").lower()
            found = [{"id": name} for name in sorted(hub.repositories) if words in name.lower()]
            self.json(found[:int(self.query.get("limit", 10))])

        def info(self, name: str, revision: str | None) -> None:
            if name in hub.renamed:
                return self.answer(307, headers={"Location": self.path.replace(name, hub.renamed[name])})
            found = self.commit_of(name, revision or "main", False)
            if found:
                commit, files = found
                self.json({"id": name, "modelId": name, "sha": commit, "private": False, "gated": hub.repositories[name].access == "gated",
                           "tags": [], "downloads": 0, "siblings": [{"rfilename": path} for path in files]})

        def tree(self, name: str, revision: str) -> None:
            found = self.commit_of(name, revision, False)
            if not found:
                return
            entries = []
            folders = {"/".join(path.split("/")[:-1]) for path in found[1]} - {""}
            entries += [{"type": "directory", "path": folder, "oid": "0" * 40, "size": 0} for folder in sorted(folders)]
            for path, file in sorted(found[1].items()):
                entry = {"type": "file", "path": path, "oid": file.git_id, "size": len(file.content)}
                if file.is_large:
                    entry["lfs"] = {"oid": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
                entries.append(entry)
            entries += hub.tree_changes
            start = int(self.query.get("cursor", 0))
            headers = {}
            if start + PAGE < len(entries):
                query = urllib.parse.urlencode({**self.query, "cursor": start + PAGE})
                headers["Link"] = f'<{hub.endpoint}/api/models/{name}/tree/{revision}?{query}>; rel="next"'
            self.json(entries[start:start + PAGE], headers)

        def resolve(self, name: str, revision: str, path: str) -> None:
            found = self.commit_of(name, revision, True)
            if not found:
                return
            commit, files = found
            if path not in files:
                return self.refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
            file = files[path]
            headers = {"X-Repo-Commit": commit, "ETag": f'"{file.etag}"', "Accept-Ranges": "bytes"}
            if file.is_large:
                location = f"{hub.files_endpoint}/{file.sha256}?signature=abc"
                headers |= {"X-Linked-ETag": f'"{file.sha256}"', "X-Linked-Size": str(len(file.content)), "Location": location}
                return self.answer(302, b"Found. Redirecting to ...", headers)
            self.content(file.content, headers)

        def content_of_digest(self, digest: str) -> None:
            for repository in hub.repositories.values():
                for files in repository.commits.values():
                    for file in files.values():
                        if file.sha256 == digest:
                            return self.content(file.content, {"ETag": f'"{hashlib.md5(file.content).hexdigest()}"'})
            self.refuse(404, "", "no such file")

        # ---- answers

        def json(self, value, headers: dict[str, str] | None = None) -> None:
            self.content(json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

        def refuse(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
            headers = {"X-Error-Message": message, **(headers or {})}
            if code:
                headers["X-Error-Code"] = code
            self.answer(status, json.dumps({"error": message}).encode(), headers)

        def content(self, body: bytes, headers: dict[str, str]) -> None:
            """A body, of which a range may be asked for."""
            status, fault = 200, self.fault
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if fault and fault.change is not None:
                body = fault.change
            if asked and not (fault and fault.ignores_range):
                first, last = int(asked[1]), int(asked[2] or len(body) - 1)
                if first >= len(body):
                    return self.answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
                if fault and fault.wrong_range:
                    first = max(0, first - 10)
                headers = headers | {"Content-Range": f"bytes {first}-{last}/{len(body)}"}
                body, status = body[first:last + 1], 206
            self.answer(status, body, headers)

        def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
            fault = self.fault
            said = len(body)
            if fault and fault.cut is not None:
                body = body[:fault.cut]
                said = len(body) if fault.whole_until_cut else said
            try:
                self.send_response(status)
                for name, value in {"Content-Length": str(said), **(headers or {}), **(fault.headers if fault else {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.send(body)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                self.close_connection = True
            if fault and fault.cut is not None:
                self.close_connection = True

        def send(self, body: bytes) -> None:
            fault = self.fault
            with hub.lock:
                hub.running += 1
                hub.most_running = max(hub.most_running, hub.running)
            try:
                if fault and fault.append:
                    body += fault.append
                step = max(1, fault.rate // 20) if fault and fault.rate else max(1, min(1 << 16, len(body) // 4))
                for at in range(0, len(body), step):
                    if fault and fault.stall and at >= len(body) // 2:
                        time.sleep(fault.stall)
                        fault.stall = 0
                    if fault and fault.rate:
                        time.sleep(step / fault.rate)
                    part = body[at:at + step]
                    self.wfile.write(part)
                    with hub.lock:
                        hub.bytes_sent += len(part)
            finally:
                with hub.lock:
                    hub.running -= 1

    return Handler


def files_of(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print("usage: tests/hub/server.py FOLDER ...", file=sys.stderr)
        sys.exit(2)
    with Hub() as hub:
        for folder in map(pathlib.Path, sys.argv[1:]):
            hub.repositories["test/" + folder.resolve().name] = Repository(files_of(folder))
        print(f"HF_ENDPOINT={hub.endpoint} serves {', '.join(hub.repositories)}", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
