"""The workloads of `cargo xtask compare sim` in SimPy.

Usage: python mm1_storm.py <mm1|mm1-storm> SECONDS SEED <fused|parts>

Clients are processes, as SimPy has it: an attempt waits for its reply or its timer, whichever
is first. In parts the server is a `simpy.Resource` and an attempt at the server a process that
waits for its turn, which is how SimPy's documentation writes a queue. Fused it is one process
that sleeps until there is work, over a plain deque: fewer events per attempt.
"""

import json
import random
import sys
import time
from collections import deque

import simpy

SERVICE_RATE = 10.0
STORM_RATE = 9.3
PLAIN_RATE = 9.0
SPIKE_RATE = 30.0
SPIKE = (60.0, 65.0)
QUEUE = 100
TIMEOUT = 4.0
RETRIES = 3


class Storm:
    """Clients that give up and retry if `storm` is set; how attempts are served is missing."""

    def __init__(self, env, storm, seed):
        self.env = env
        self.storm = storm
        self.draw = random.Random(seed).expovariate
        self.requests = self.good = self.attempts = self.served = self.wasted = 0
        env.process(self.arrivals())

    def gap(self, now):
        """Time to the next arrival; at an edge of the spike it is drawn again."""
        if not self.storm:
            return self.draw(PLAIN_RATE)
        at = now
        while True:
            if at < SPIKE[0]:
                rate, edge = STORM_RATE, SPIKE[0]
            elif at < SPIKE[1]:
                rate, edge = SPIKE_RATE, SPIKE[1]
            else:
                return at + self.draw(STORM_RATE) - now
            following = at + self.draw(rate)
            if following < edge:
                return following - now
            at = edge

    def arrivals(self):
        env = self.env
        client = self.retrying_client if self.storm else self.patient_client
        while True:
            yield env.timeout(self.gap(env.now))
            self.requests += 1
            env.process(client())

    def retrying_client(self):
        env = self.env
        for _ in range(RETRIES + 1):
            self.attempts += 1
            if self.full():
                continue
            reply = env.event()
            reply.abandoned = False
            self.submit(reply)
            yield reply | env.timeout(TIMEOUT)
            if reply.triggered:
                self.good += 1
                return
            reply.abandoned = True

    def patient_client(self):
        self.attempts += 1
        reply = self.env.event()
        reply.abandoned = False
        self.submit(reply)
        yield reply
        self.good += 1

    def done(self, reply):
        self.served += 1
        self.wasted += reply.abandoned
        reply.succeed()


class Fused(Storm):
    """The server is one process over a deque."""

    def __init__(self, env, storm, seed):
        super().__init__(env, storm, seed)
        self.waiting = deque()
        self.busy = False
        self.wake = env.event()
        env.process(self.server())

    def full(self):
        return self.busy and len(self.waiting) >= QUEUE

    def submit(self, reply):
        self.waiting.append(reply)
        if not self.busy:
            self.busy = True
            self.wake.succeed()

    def server(self):
        env, waiting = self.env, self.waiting
        while True:
            yield self.wake
            self.wake = env.event()
            while waiting:
                reply = waiting.popleft()
                yield env.timeout(self.draw(SERVICE_RATE))
                self.done(reply)
            self.busy = False


class Parts(Storm):
    """The server is a resource; every attempt at it is a process."""

    def __init__(self, env, storm, seed):
        super().__init__(env, storm, seed)
        self.server = simpy.Resource(env, capacity=1)

    def full(self):
        return len(self.server.queue) >= QUEUE

    def submit(self, reply):
        self.env.process(self.attempt(reply))

    def attempt(self, reply):
        with self.server.request() as turn:
            yield turn
            yield self.env.timeout(self.draw(SERVICE_RATE))
            self.done(reply)


def main():
    usage = "usage: mm1_storm.py <mm1|mm1-storm> SECONDS SEED <fused|parts>"
    shapes = {"fused": Fused, "parts": Parts}
    if len(sys.argv) != 5 or sys.argv[1] not in ("mm1", "mm1-storm") or sys.argv[4] not in shapes:
        sys.exit(usage)
    workload, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    start = time.process_time()
    env = simpy.Environment()
    storm = shapes[sys.argv[4]](env, workload == "mm1-storm", seed)
    env.run(until=seconds)
    cpu = time.process_time() - start
    print(
        json.dumps(
            {
                "requests": storm.requests,
                "good": storm.good,
                "attempts": storm.attempts,
                "served": storm.served,
                "wasted": storm.wasted,
                # Every event has a number; the counter tells how many there were.
                "events": next(env._eid),
                # Without the start of Python and its imports.
                "cpu_s": round(cpu, 6),
            }
        )
    )


if __name__ == "__main__":
    main()
