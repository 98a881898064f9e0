"""The equations of a network, solved with NumPy and SciPy.

Usage: python scipy_solve.py FILE TURNS <fixed-point|root>

FILE is what the example `speed draw` of damper-model prints: a network of services that are all
fluid (a rate limit) or all M/M/c/K queues. Prints JSON: the seconds of each turn, from the numbers
in memory to the solution, and the solution.

fixed-point is what somebody writes who wants it fast: λ → s̄ → λ with one sparse product for all
classes, and s̄ of all services at once by Newton's steps from the last answer, kept in a bracket.
root gives the same map, without the iteration, to `scipy.optimize.root` (hybr), starting from what
would come if nothing were rejected.
"""

import json
import sys
import time

import numpy as np
from scipy import optimize, sparse, special

TOLERANCE = 1e-13
ROUNDS = 100_000


class Network:
    """Rates have one row for each service and one column for each class."""

    def __init__(self, file):
        n, p = int(file["services"]), int(file["classes"])
        self.shape = (n, p)
        self.entry = file["entry"].reshape(n, p)
        self.tries = file["limits"].reshape(n, p) + 1.0
        self.capacity = file["capacity"]
        self.queue = file["model"] == "finite"
        self.workers = file["workers"]
        self.waiting = file["places"] - file["workers"]
        self.factorial = special.gammaln(self.workers + 1.0)
        # One matrix over (service, class), as every class has its own routes.
        rows = file["to"] * p + file["class"]
        columns = file["from"] * p + file["class"]
        self.routes = sparse.csr_array((file["share"], (rows, columns)), shape=(n * p, n * p))

    def blocked(self, load):
        """B of M/M/c/K at a load, 1 - B, and the slope of B. 1/B of the workers alone is the Poisson
        distribution over its density, an incomplete gamma function; the places to wait have a
        closed form."""
        c, waiting = self.workers, self.waiting
        r = self.capacity / load
        a = c / r
        full = special.gammaincc(c + 1, a) * np.exp(self.factorial + a - c * np.log(a))
        more = full - 1.0
        off = (self.capacity - load) / load
        full_slope = c * (1.0 + full * off) / r**2
        m = np.maximum(waiting - 1, 0)
        grown = np.expm1(m * np.log1p(off))
        small = np.abs(m * off) < 1e-4
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.where(off == 0.0, m, grown / off)
            rise = np.where(small, 0.5 * m * (m - 1), (m * (1 + grown) / r - total) / off)
        before = (1 + grown) * full + total
        before_slope = (1 + grown) * (m * full / r + full_slope) + rise
        odds = np.where(waiting > 0, r * before, more)
        slope = np.where(waiting > 0, before + r * before_slope, full_slope)
        blocked = 1.0 / (1.0 + odds)
        return blocked, odds / (1.0 + odds), blocked * (blocked * slope) * r / load

    def attempts(self, rates, u):
        """Attempts that arrive where each is accepted with probability u, and their slope by u."""
        u = u[:, None]
        s = 1.0 - u
        served = -np.expm1(self.tries * np.log1p(-u))
        with np.errstate(divide="ignore", invalid="ignore"):
            tries = np.where(u > 0.0, served / u, self.tries)
            slope = np.where(
                self.tries * u < 1e-5,
                -0.5 * self.tries * (self.tries - 1),
                -(tries - self.tries * s ** (self.tries - 1)) / u,
            )
        return (rates * tries).sum(axis=1), (rates * slope).sum(axis=1)

    def excess(self, rates, u):
        """What falls through zero where 1 - s̄ = u, and its slope."""
        if self.queue:
            load, rise = self.attempts(rates, u)
            _, accepted, slope = self.blocked(load)
            return accepted - u, -slope * rise - 1.0
        v = u[:, None]
        failed = np.exp(self.tries * np.log1p(-v))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(v < 1.0, failed / (1.0 - v), 0.0)
        value = self.capacity - (rates * (1.0 - failed)).sum(axis=1)
        return value, -(rates * self.tries * slope).sum(axis=1)

    def accepted(self, rates, near):
        """1 - s̄ of all services, by Newton's steps in a bracket, bisection where they leave it."""
        total = rates.sum(axis=1)
        low, high, u = np.zeros_like(near), np.ones_like(near), near.copy()
        idle = total <= (0.0 if self.queue else self.capacity)
        for _ in range(200):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                value, slope = self.excess(rates, u)
                above = ~(value < 0.0)
                low, high = np.where(above, u, low), np.where(above, high, u)
                step = u - value / slope
            good = (slope < 0.0) & (step >= low) & (step <= high)
            following = np.where(good, step, 0.5 * (low + high))
            following = np.where(idle, 1.0, following)
            moved = np.abs(following - u)
            u = following
            if (moved <= 1e-10 * u).all():
                break
        return u

    def respond(self, rates, near):
        """What the network demands of λ, where λ is `rates`; and 1 - s̄."""
        u = self.accepted(rates, near)
        with np.errstate(divide="ignore"):
            passed = rates * -np.expm1(self.tries * np.log1p(-u[:, None]))
        return self.entry + (self.routes @ passed.ravel()).reshape(self.shape), u

    def fixed_point(self):
        rates, u = self.entry.copy(), np.ones(self.shape[0])
        for rounds in range(1, ROUNDS):
            following, u = self.respond(rates, u)
            moved = np.abs(following - rates).max()
            rates = following
            if moved <= TOLERANCE * rates.max():
                break
        return rates, u, rounds

    def root(self):
        identity = sparse.eye_array(self.routes.shape[0], format="csc")
        free = sparse.linalg.spsolve((identity - self.routes).tocsc(), self.entry.ravel())
        near = np.ones(self.shape[0])
        calls = 0

        def missed(flat):
            nonlocal calls, near
            calls += 1
            rates = np.maximum(flat, 0.0).reshape(self.shape)
            demanded, near = self.respond(rates, near)
            return demanded.ravel() - flat

        found = optimize.root(missed, free, method="hybr", options={"xtol": 1e-10})
        rates = found.x.reshape(self.shape)
        return rates, self.respond(rates, near)[1], calls


def main():
    path, turns, method = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(path, encoding="utf-8") as text:
        file = json.load(text)
    file = {
        key: np.asarray(value) if isinstance(value, list) else value for key, value in file.items()
    }
    seconds = []
    # One turn more than is counted: the first pays for what is loaded late.
    for turn in range(turns + 1):
        start = time.perf_counter()
        network = Network(file)
        rates, u, rounds = network.fixed_point() if method == "fixed-point" else network.root()
        if turn > 0:
            seconds.append(time.perf_counter() - start)
    print(
        json.dumps(
            {
                "all_s": seconds,
                "rounds": rounds,
                "rates": rates.ravel().tolist(),
                "rejection": (1.0 - u).tolist(),
            }
        )
    )


main()
