"""The processes: a parent that makes the tables and binds the port, and workers that answer.

`uvicorn --workers` would do, but it does not tell when all its workers listen.
"""

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from multiprocessing.connection import wait
from pathlib import Path

import asyncpg
import uvicorn

# Two, since a process uses one core only. Measured on two cores shared with PostgreSQL and the client: 740 new orders and
# 1,040 replays a second with one, 1,660 and 2,380 with two.
PROCESSES = int(os.environ.get("PROCESSES", "2"))
START_LIMIT = 15


async def create_tables() -> None:
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    await connection.execute((Path(__file__).parent.parent / "schema.sql").read_text())
    await connection.close()


class Server(uvicorn.Server):
    """Tells the parent when it listens."""

    def __init__(self, config: uvicorn.Config, all_listen) -> None:
        super().__init__(config)
        self.all_listen = all_listen

    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        self.all_listen.wait(START_LIMIT)


def work(sock: socket.socket, all_listen) -> None:
    # A parent that was killed cannot end its workers.
    threading.Thread(target=end_with_parent, daemon=True).start()
    config = uvicorn.Config(
        "app:app", loop="uvloop", http="httptools", log_level="warning", access_log=False, workers=PROCESSES
    )
    Server(config, all_listen).run([sock])


def end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


def main() -> None:
    for name in ("DATABASE_URL", "LISTEN_PORT", "TOKEN"):
        if not os.environ.get(name):
            sys.exit(f"{name} is missing")
    # Here and not in the workers, where two would race.
    asyncio.run(create_tables())
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", int(os.environ["LISTEN_PORT"])))

    # As uvicorn does: a forked worker would inherit the parent's event loop.
    context = multiprocessing.get_context("spawn")
    all_listen = context.Barrier(PROCESSES + 1)
    workers = [context.Process(target=work, args=(sock, all_listen)) for _ in range(PROCESSES)]
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: sys.exit(0))
    try:
        for worker in workers:
            worker.start()
        all_listen.wait(START_LIMIT)
        print(f"listening on http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
        wait([worker.sentinel for worker in workers])
        # A bench wants to hear of it, rather than have it hidden by another worker.
        sys.exit("a worker ended")
    finally:
        stop(workers)


def stop(workers) -> None:
    started = [worker for worker in workers if worker.pid]
    for worker in started:
        worker.terminate()
    deadline = time.monotonic() + 0.7
    for worker in started:
        worker.join(max(0, deadline - time.monotonic()))
    for worker in started:
        worker.kill()


if __name__ == "__main__":
    main()
