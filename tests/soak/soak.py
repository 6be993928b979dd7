#!/usr/bin/env python3
"""Throws random bytes and mutated tokens at a running server and watches that it neither panics, lies nor grows.

    cargo build --release
    tests/soak/soak.py --seconds 600 --server target/release/verilane

Starts `verilane serve --dev` on free ports, mints one good token per algorithm, and then, until the time is up:
  * sends raw random bytes to the data port (HTTP parser, HTTP/2 preface, gRPC frames),
  * sends mutated tokens to /v1/verify and in NDJSON batches to /v1/verify:batch, mutated JSON to every endpoint,
  * asks for the verdict of an untouched token (must be accepted) and of a token with a changed signature (must be
    rejected as signature_invalid).
A mutated token may only be accepted if it is byte for byte a token that was minted. Resident memory is read from
/proc every few seconds. Ends with 1 on a wrong verdict, a dead server, a panic in its log, or growth beyond
--growth-mib between the first quarter and the end. Prints the seed; a run can be repeated from it.
"""

import argparse
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time


class Faults:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = []
        self.counts = {}

    def add(self, text):
        with self.lock:
            self.items.append(text)

    def count(self, name, by=1):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + by


def start(server):
    log = tempfile.NamedTemporaryFile(mode="w+b", prefix="verilane-soak-", suffix=".log", delete=False)
    command = [server, "serve", "--dev", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
               "--dev-issuer", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    deadline = time.time() + 30
    while time.time() < deadline:
        with open(log.name, encoding="utf-8", errors="replace") as handle:
            text = handle.read()
        verify = re.search(r"http://(127\.0\.0\.1:\d+)/v1/verify", text)
        mint = re.search(r"http://(127\.0\.0\.1:\d+)/dev/mint", text)
        if verify and mint:
            return process, log.name, verify.group(1), mint.group(1)
        if process.poll() is not None:
            break
        time.sleep(0.1)
    sys.exit(f"the server did not start:\n{open(log.name, encoding='utf-8', errors='replace').read()}")


def post(connection, path, body, content_type="application/json"):
    connection.request("POST", path, body, {"content-type": content_type})
    response = connection.getresponse()
    return response.status, response.read()


def mint(address, algorithms):
    tokens = {}
    connection = http.client.HTTPConnection(address, timeout=10)
    for algorithm in algorithms:
        status, body = post(connection, "/dev/mint", json.dumps({"alg": algorithm, "ttl": "2h"}))
        if status != 200:
            sys.exit(f"minting {algorithm} answered {status}: {body!r}")
        tokens[algorithm] = json.loads(body)["token"]
    return tokens


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def mutate(rng, token, others):
    kind = rng.randrange(9)
    if kind == 0:  # another character of the alphabet somewhere
        at = rng.randrange(len(token))
        return token[:at] + rng.choice(ALPHABET) + token[at + 1:]
    if kind == 1:  # any byte somewhere
        at = rng.randrange(len(token))
        return token[:at] + chr(rng.randrange(256)) + token[at + 1:]
    if kind == 2:  # cut
        return token[: rng.randrange(len(token))]
    if kind == 3:  # grow
        return token + rng.choice(ALPHABET) * rng.randrange(1, 2000)
    if kind == 4:  # segments of different tokens
        parts = [rng.choice([token, *others]).split(".")[i] for i in range(3)]
        return ".".join(parts)
    if kind == 5:  # dots
        at = rng.randrange(len(token))
        return token[:at] + "." * rng.randrange(1, 50) + token[at:]
    if kind == 6:  # drop a run
        at = rng.randrange(len(token))
        return token[:at] + token[at + rng.randrange(1, 40):]
    if kind == 7:  # swap two runs
        a, b = sorted(rng.randrange(len(token)) for _ in range(2))
        return token[b:] + token[a:b] + token[:a]
    return "".join(chr(rng.randrange(32, 127)) for _ in range(rng.randrange(600)))


def judge(faults, minted, token, verdict, where):
    if verdict.get("verdict") == "accepted" and token not in minted:
        faults.add(f"{where}: accepted a token nobody minted: {token!r}")
    elif verdict.get("verdict") not in ("accepted", "rejected", "error"):
        faults.add(f"{where}: no verdict in {verdict!r}")


def single(rng, faults, address, tokens, until):
    connection = http.client.HTTPConnection(address, timeout=20)
    names, minted = list(tokens), set(tokens.values())
    while time.time() < until:
        try:
            name = rng.choice(names)
            token = mutate(rng, tokens[name], tokens.values())
            status, body = post(connection, "/v1/verify", json.dumps({"token": token}))
            faults.count("single mutated")
            if status == 200:
                judge(faults, minted, token, json.loads(body), "/v1/verify")
            elif status not in (400, 413, 503):
                faults.add(f"/v1/verify answered {status} to a mutated token")
            # The untouched token, and one whose signature is that of another token.
            status, body = post(connection, "/v1/verify", json.dumps({"token": tokens[name]}))
            faults.count("single good")
            if status == 200 and json.loads(body)["verdict"] != "accepted":
                faults.add(f"a good {name} token was answered {body!r}")
            head, payload, signature = tokens[name].split(".")
            first = "A" if signature[0] != "A" else "B"
            status, body = post(connection, "/v1/verify", json.dumps({"token": f"{head}.{payload}.{first}{signature[1:]}"}))
            faults.count("single forged")
            answer = json.loads(body)
            if status == 200 and (answer["verdict"], answer.get("reason")) != ("rejected", "signature_invalid"):
                faults.add(f"a forged {name} token was answered {body!r}")
        except (OSError, http.client.HTTPException) as error:
            faults.count(f"single: {type(error).__name__}")
            connection.close()


def batch(rng, faults, address, tokens, until):
    connection = http.client.HTTPConnection(address, timeout=60)
    names, minted = list(tokens), set(tokens.values())
    while time.time() < until:
        lines, sent = [], []
        for _ in range(2000):
            roll = rng.random()
            token = rng.choice(list(tokens.values()))
            if roll < 0.2:
                sent.append(token)
                lines.append(json.dumps({"token": token}))
            elif roll < 0.9:
                token = mutate(rng, token, tokens.values())
                sent.append(token)
                lines.append(json.dumps({"token": token}))
            else:
                sent.append(None)
                junk = "".join(chr(rng.randrange(33, 127)) for _ in range(rng.randrange(1, 300)))
                lines.append(junk)
        try:
            status, body = post(connection, "/v1/verify:batch", "\n".join(lines).encode() + b"\n", "application/x-ndjson")
            faults.count("batch tokens", len(lines))
            if status != 200:
                faults.add(f"/v1/verify:batch answered {status}")
                continue
            answers = body.decode().splitlines()
            if len(answers) != len(lines):
                faults.add(f"/v1/verify:batch gave {len(answers)} answers to {len(lines)} lines")
                continue
            for token, answer in zip(sent, answers):
                verdict = json.loads(answer)
                if token is None:
                    if verdict.get("verdict") == "accepted":
                        faults.add(f"junk accepted: {answer}")
                else:
                    judge(faults, minted, token, verdict, "batch")
                    if token in minted and verdict["verdict"] == "rejected":
                        faults.add(f"batch: a good token was rejected: {answer}")
        except (OSError, http.client.HTTPException) as error:
            faults.count(f"batch: {type(error).__name__}")
            connection.close()


PATHS = ["/v1/verify", "/v1/verify:batch", "/v1/signatures:verify", "/v1/signatures:batch", "/openapi.json", "/",
         "/verilane.v1.Verifier/Verify", "/verilane.v1.Verifier/VerifyStream"]


def raw(rng, faults, address, tokens, until):
    host, port = address.split(":")
    while time.time() < until:
        kind = rng.randrange(4)
        noise = rng.randbytes(rng.randrange(1, 4000))
        if kind == 1:
            noise = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + noise
        elif kind == 2:
            path = rng.choice(PATHS).encode()
            noise = (b"POST " + path + b" HTTP/1.1\r\nhost: x\r\ncontent-type: "
                     + rng.choice([b"application/json", b"application/x-ndjson", b"application/grpc", b"text/plain"])
                     + b"\r\ncontent-length: " + str(len(noise)).encode() + b"\r\n\r\n" + noise)
        elif kind == 3:
            token = rng.choice(list(tokens.values())).encode()
            noise = (b"POST /v1/verify HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + token + b"\r\n"
                     + bytes(rng.randrange(256) for _ in range(rng.randrange(60))) + b"\r\n\r\n")
        try:
            with socket.create_connection((host, int(port)), timeout=5) as stream:
                stream.settimeout(0.2)
                stream.sendall(noise)
                try:
                    while stream.recv(65536):
                        pass
                except (TimeoutError, ConnectionError):
                    pass
        except OSError as error:
            faults.count(f"raw: {type(error).__name__}")
        faults.count("raw connections")


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as handle:
        for line in handle:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="target/release/verilane")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--growth-mib", type=float, default=32)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)

    process, log, address, mint_address = start(options.server)
    algorithms = ["EdDSA", "ES256", "ES384", "ES512", "ES256K", "RS256", "PS384", "HS256", "HS512"]
    tokens = mint(mint_address, algorithms)
    faults = Faults()
    until = time.time() + options.seconds
    workers = [threading.Thread(target=work, args=(random.Random(options.seed + n), faults, address, tokens, until))
               for n, work in enumerate([single, single, batch, raw, raw, raw, raw])]
    for worker in workers:
        worker.start()

    began, samples = time.time(), []
    while time.time() < until:
        time.sleep(min(5, max(0.1, until - time.time())))
        if process.poll() is not None:
            faults.add(f"the server ended with {process.returncode}")
            break
        samples.append((time.time() - began, resident_kib(process.pid)))
        print(f"{samples[-1][0]:6.0f} s  rss {samples[-1][1] / 1024:7.1f} MiB  {faults.counts}", flush=True)
    for worker in workers:
        worker.join()

    process.terminate()
    try:
        if process.wait(60) != 0:
            faults.add(f"after SIGTERM the server ended with {process.returncode}")
    except subprocess.TimeoutExpired:
        process.kill()
        faults.add("the server did not end within 60 s of SIGTERM")
    with open(log, encoding="utf-8", errors="replace") as handle:
        text = handle.read()
    if "panicked" in text:
        faults.add(f"panic in the log {log}")
    settled = [rss for at, rss in samples if at >= options.seconds / 4] or [rss for _, rss in samples]
    growth = (settled[-1] - settled[0]) / 1024 if settled else 0.0
    peak = max((rss for _, rss in samples), default=0) / 1024
    print(f"counts {faults.counts}")
    print(f"rss: peak {peak:.1f} MiB, growth after the first quarter {growth:+.1f} MiB")
    if growth > options.growth_mib:
        faults.add(f"resident memory grew by {growth:.1f} MiB")
    for fault in faults.items[:20]:
        print(f"FAULT {fault}")
    print(f"{len(faults.items)} faults")
    return 1 if faults.items else 0


if __name__ == "__main__":
    sys.exit(main())
