#!/usr/bin/env python3
"""Clients by the dozen for a server with OpenAI's API: wick serve, llama-server and others.

  load.py crowd URL --clients 64 --requests 256 --prompt 128 --tokens 128
      Clients that each send one request after the other. Prints requests and tokens per second, the time to the first token
      and between tokens.
  load.py first URL --streams 32 --prompt 512
      The time to the first token of one prompt alone, and while other texts are streamed.
  load.py alike URL --prompts 32 --prompt 300 --tokens 64
      Asks for texts one after the other, then for all of them at once. Prints how many are the same, and the largest
      difference of a token's log probability up to where they part. --same: exit status 1 unless all are the same.
  load.py soak URL --clients 64 --minutes 10 [--pid N]
      Clients that also hang up, read slowly, send bodies that lie about their length, or break JSON. Every whole answer must
      be the one that its prompt had alone. At the end the server must be idle, and with --pid no larger than after the
      first half, with no more open files.

Prompts are lists of ids, drawn at random below --vocab, so that every server reads the same number of tokens and finds
none of them in its cache. Needs Python 3.11, no packages. Exit status: 1 if a request failed that should not.
"""
import argparse
import asyncio
import dataclasses
import json
import os
import random
import statistics
import struct
import socket
import sys
import time
import urllib.parse


class Failed(Exception):
    """An answer that was not expected."""


@dataclasses.dataclass
class Answer:
    text: str = ""
    tokens: int = 0
    logprobs: list = dataclasses.field(default_factory=list)  # (token, log probability), if the request asks for them
    first: float = 0.0  # seconds until the first token
    gaps: list = dataclasses.field(default_factory=list)  # seconds between events
    finish: str | None = None


class Server:
    def __init__(self, options):
        url = urllib.parse.urlsplit(options.url)
        self.host, self.port = url.hostname, url.port or 80
        self.key, self.vocab, self.model = options.key, options.vocab, options.model

    def prompt(self, length, rng=random):
        return [rng.randrange(self.vocab) for _ in range(length)]

    def body(self, prompt, tokens, **more):
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True,
                "stream_options": {"include_usage": True}, **more}
        if self.model:
            body["model"] = self.model
        return json.dumps(body).encode()

    def head(self, path, length, method="POST"):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Content-Type: application/json",
                 f"Content-Length: {length}", "Connection: close"]
        if self.key:
            lines.append(f"Authorization: Bearer {self.key}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def open(self):
        return await asyncio.open_connection(self.host, self.port)

    async def get(self, path):
        reader, writer = await self.open()
        try:
            writer.write(self.head(path, 0, "GET"))
            status, headers = await read_head(reader)
            return status, b"".join([part async for part in body_parts(reader, headers)]).decode()
        finally:
            writer.close()

    async def complete(self, prompt, tokens, pause=0.0, **more):
        """The answer to a streamed completion. pause: seconds that the client sleeps between reads."""
        body = self.body(prompt, tokens, **more)
        reader, writer = await self.open()
        try:
            begin = time.perf_counter()
            writer.write(self.head("/v1/completions", len(body)) + body)
            status, headers = await read_head(reader)
            if status != 200:
                text = b"".join([part async for part in body_parts(reader, headers)]).decode(errors="replace")
                raise Failed(f"status {status}: {text[:300]}")
            return await self.read_events(body_parts(reader, headers), begin, pause)
        finally:
            writer.close()

    @staticmethod
    async def read_events(parts, begin, pause):
        answer, last, rest = Answer(), None, b""
        async for part in parts:
            if pause:
                await asyncio.sleep(pause)
            rest += part
            while (end := rest.find(b"\n\n")) >= 0:
                event, rest = rest[:end], rest[end + 2:]
                if not event.startswith(b"data: "):
                    continue
                if event == b"data: [DONE]":
                    return answer
                chunk = json.loads(event[6:])
                if "error" in chunk:
                    raise Failed(f"in the stream: {chunk['error']}")
                if usage := chunk.get("usage"):
                    answer.tokens = usage["completion_tokens"]
                for choice in chunk.get("choices", ()):
                    now = time.perf_counter()
                    if last is None:
                        answer.first = now - begin
                    else:
                        answer.gaps.append(now - last)
                    last = now
                    answer.text += choice.get("text") or ""
                    if scores := choice.get("logprobs"):
                        answer.logprobs += zip(scores["tokens"], scores["token_logprobs"], strict=True)
                    answer.finish = choice.get("finish_reason") or answer.finish
        raise Failed("the stream ended without its last event")


async def read_head(reader):
    line = await reader.readline()
    if not line:
        raise Failed("the server closed the connection without an answer")
    status, headers = int(line.split()[1]), {}
    while (line := (await reader.readline()).strip()):
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return status, headers


async def body_parts(reader, headers):
    if headers.get("transfer-encoding") == "chunked":
        while (size := int((await reader.readline()).split(b";")[0] or b"0", 16)):
            yield await reader.readexactly(size)
            await reader.readline()
    elif "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
    else:
        while part := await reader.read(65536):
            yield part


def spread(seconds):
    """The median and the 95th percentile in milliseconds."""
    if not seconds:
        return "no times"
    ordered = sorted(seconds)
    return f"{1e3 * statistics.median(ordered):.1f} ms, 95 %: {1e3 * ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]:.1f} ms"


async def crowd(server, options):
    left, answers = options.requests, []

    async def client():
        nonlocal left
        while left > 0:
            left -= 1
            answers.append(await server.complete(server.prompt(options.prompt), options.tokens))

    await server.complete(server.prompt(options.prompt), 4)  # the first request sets the server up
    begin = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(options.clients)))
    seconds = time.perf_counter() - begin
    tokens = sum(a.tokens for a in answers)
    if wrong := [a.tokens for a in answers if a.tokens != options.tokens]:
        raise Failed(f"expected {options.tokens} tokens in each answer, got {wrong[0]} in one of {len(wrong)}")
    print(f"{options.clients} clients, {len(answers)} requests of {options.prompt} tokens, {options.tokens} tokens each: "
          f"{len(answers) / seconds:.2f} requests/s, {tokens / seconds:.1f} tokens/s, first token {spread([a.first for a in answers])}, "
          f"between tokens {spread([g for a in answers for g in a.gaps])}")


async def first(server, options):
    async def one():
        return (await server.complete(server.prompt(options.prompt), 2)).first

    await one()
    alone = [await one() for _ in range(options.repeat)]
    ends = False

    async def stream():
        while not ends:
            await server.complete(server.prompt(16), options.tokens)

    streams = [asyncio.create_task(stream()) for _ in range(options.streams)]
    await asyncio.sleep(options.settle)
    beside = [await one() for _ in range(options.repeat)]
    ends = True
    await asyncio.gather(*streams)
    ratio = statistics.median(beside) / statistics.median(alone)
    print(f"first token of {options.prompt} tokens: alone {spread(alone)}; beside {options.streams} streams {spread(beside)}: {ratio:.2f} times")


async def alike(server, options):
    rng = random.Random(options.seed)
    prompts = [server.prompt(rng.randrange(1, options.prompt + 1), rng) for _ in range(options.prompts)]
    same, scored, largest = {}, 0, 0.0
    for more in ({}, {"logprobs": 1}):
        alone = [await server.complete(prompt, options.tokens, **more) for prompt in prompts]
        together = await asyncio.gather(*(server.complete(prompt, options.tokens, **more) for prompt in prompts))
        same["texts with scores" if more else "texts"] = sum(a.text == b.text for a, b in zip(alone, together, strict=True))
        for one, other in zip(alone, together, strict=True):
            for (token, logprob), (other_token, other_logprob) in zip(one.logprobs, other.logprobs):
                scored += 1
                largest = max(largest, abs(logprob - other_logprob) if token == other_token else 0)
                if token != other_token:
                    break
    print(", ".join(f"{count} of {len(prompts)} {what} the same alone and together" for what, count in same.items())
          + f"; log probabilities of {scored} tokens differ by at most {largest:.2e}")
    if options.same and (largest > 0 or min(same.values()) < len(prompts)):
        raise Failed("texts depend on those beside them")


class Process:
    """The size of a process, by Linux's /proc."""

    def __init__(self, pid):
        self.pid = pid

    def bytes(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


class Soak:
    def __init__(self, server, options):
        self.server, self.options = server, options
        rng = random.Random(options.seed)
        self.prompts = [server.prompt(rng.randrange(1, options.prompt), rng) for _ in range(options.prompts)]
        self.expected, self.counts = [], {}

    async def run(self):
        server, options = self.server, self.options
        for prompt in self.prompts:
            answer = await server.complete(prompt, options.tokens)
            self.expected.append(answer.text)
        process = Process(options.pid) if options.pid else None
        idle = (process.files(), process.threads()) if process else None
        half, end = (time.monotonic() + 60 * options.minutes * part for part in (0.5, 1))
        clients = [asyncio.create_task(self.client(random.Random(options.seed + 1 + i), end)) for i in range(options.clients)]
        if process:
            await asyncio.sleep(half - time.monotonic())
            size = process.bytes()
        await asyncio.gather(*clients)
        await self.wait_until_idle()
        print(", ".join(f"{count} {name}" for name, count in sorted(self.counts.items())))
        if process:
            for _ in range(50):  # threads of the last connections are just ending
                if process.files() <= idle[0] and process.threads() <= idle[1]:
                    break
                await asyncio.sleep(0.1)
            grown = process.bytes() - size
            print(f"memory {size / 2**20:.1f} MiB after the first half, {grown / 2**20:+.1f} MiB since; open files {idle[0]} before, "
                  f"{process.files()} after; threads {idle[1]} before, {process.threads()} after")
            if grown > max(0.02 * size, 8 << 20) or process.files() > idle[0] or process.threads() > idle[1]:
                raise Failed("the server has grown")

    async def client(self, rng, end):
        kinds = [self.whole] * 8 + [self.hang_up, self.reset, self.read_slowly, self.short_body, self.long_body, self.bad_json,
                                    self.bad_head, self.open_only]
        while time.monotonic() < end:
            kind = rng.choice(kinds)
            await kind(rng)
            name = kind.__name__.replace("_", " ")
            self.counts[name] = self.counts.get(name, 0) + 1

    async def whole(self, rng, pause=0.0):
        index = rng.randrange(len(self.prompts))
        while True:
            try:
                answer = await self.server.complete(self.prompts[index], self.options.tokens, pause)
                break
            except Failed as error:
                if "status 503" not in str(error):
                    raise
                self.counts["503"] = self.counts.get("503", 0) + 1
                await asyncio.sleep(0.2 * rng.random())
        if answer.text != self.expected[index]:
            raise Failed(f"prompt {index}: expected {self.expected[index]!r}, got {answer.text!r}")

    async def read_slowly(self, rng):
        await self.whole(rng, pause=0.02)

    async def begin(self, rng, declared=None, body=None):
        body = body if body is not None else self.server.body(rng.choice(self.prompts), 100 * self.options.tokens)
        reader, writer = await self.server.open()
        writer.write(self.server.head("/v1/completions", len(body) if declared is None else declared) + body)
        return reader, writer

    async def hang_up(self, rng):
        reader, writer = await self.begin(rng)
        await asyncio.wait_for(reader.read(rng.choice((1, 200, 1000))), 60)
        writer.close()

    async def reset(self, rng):
        """As a client that is killed with data that it has not read."""
        reader, writer = await self.begin(rng)
        await asyncio.sleep(0.05 * rng.random())
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def short_body(self, rng):
        body = self.server.body(self.prompts[0], 4)
        _, writer = await self.begin(rng, declared=2 * len(body))
        await asyncio.sleep(0.05)
        writer.close()

    async def expect(self, reader, writer, *statuses):
        try:
            status, _ = await asyncio.wait_for(read_head(reader), 60)
            if status not in statuses:
                raise Failed(f"expected status {statuses}, got {status}")
        except ConnectionError:
            pass  # it closed with bytes of ours unread
        finally:
            writer.close()

    async def long_body(self, rng):
        body = self.server.body(self.prompts[0], 4)
        reader, writer = await self.begin(rng, declared=len(body) // 2)
        await self.expect(reader, writer, 400)

    async def bad_json(self, rng):
        body = bytearray(self.server.body(rng.choice(self.prompts), 4))
        body[0] = rng.choice(b"[}x\0\xff")
        reader, writer = await self.begin(rng, body=bytes(body))
        await self.expect(reader, writer, 400)

    async def bad_head(self, rng):
        reader, writer = await self.server.open()
        writer.write(rng.choice((b"\0\1\2\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
                                 b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n")))
        await self.expect(reader, writer, 400, 414, 431, 505)

    async def open_only(self, rng):
        _, writer = await self.server.open()
        await asyncio.sleep(0.1 * rng.random())
        writer.close()

    async def wait_until_idle(self):
        """Texts of clients that have gone end at once, not after all of their tokens."""
        for _ in range(50):
            _, page = await self.server.get("/metrics")
            busy = {line.split()[0]: float(line.split()[-1]) for line in page.splitlines()
                    if line.startswith(("wick_texts_running", "wick_texts_waiting"))}
            if not busy:
                raise Failed("/metrics says nothing of requests that run")
            if not any(busy.values()):
                return
            await asyncio.sleep(0.1)
        raise Failed(f"five seconds after the last request: {busy}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=("crowd", "first", "alike", "soak"))
    parser.add_argument("url")
    parser.add_argument("--model", help="its name, where the server has several")
    parser.add_argument("--key", default=os.environ.get("WICK_API_KEY", ""))
    parser.add_argument("--vocab", type=int, default=40000, help="ids of prompts are below this")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=256)
    parser.add_argument("--prompt", type=int, default=128, help="tokens of a prompt; of soak: the most")
    parser.add_argument("--tokens", type=int, default=128, help="tokens of an answer")
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--settle", type=float, default=2.0, help="seconds that the streams have before the first measurement")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--prompts", type=int, default=32, help="different prompts of alike and soak")
    parser.add_argument("--same", action="store_true", help="alike: fails unless all texts are the same")
    parser.add_argument("--pid", type=int, help="the server's process")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    server = Server(options)
    try:
        if options.job == "soak":
            asyncio.run(Soak(server, options).run())
        else:
            asyncio.run({"crowd": crowd, "first": first, "alike": alike}[options.job](server, options))
    except (Failed, OSError, asyncio.IncompleteReadError) as error:
        print(f"load.py: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
