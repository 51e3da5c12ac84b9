"""Median (quartiles) of the best value after 50, 100 and 200 trials over 20 seeds: Optuna's TPE, multivariate and grouped.

python bench/samplers.py; the same functions for Quasar: target bench_samplers.
"""
import math
import statistics

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)


def sphere(t):
    return sum((t.suggest_float(n, -5, 5) - 1) ** 2 for n in "abcde")


def branin(t):
    x, y = t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)
    return (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def conditional(t):
    kind = t.suggest_categorical("kind", ["near", "far", "flat"])
    if kind == "flat":
        return 8
    if kind == "far":
        return 5 + abs(t.suggest_float("far_x", -5, 5))
    return (t.suggest_float("near_x", -5, 5) - 2) ** 2 + 0.1 * abs(t.suggest_int("near_n", 1, 50) - 7)


for objective in (sphere, branin, conditional):
    best = {50: [], 100: [], 200: []}
    for seed in range(20):
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=200)
        values = [t.value for t in study.trials]
        for n in best:
            best[n].append(min(values[:n]))
    for n, v in best.items():
        q = statistics.quantiles(v, n=4)
        print(f"{objective.__name__} {n}: {q[1]:.4g} ({q[0]:.4g} … {q[2]:.4g})", flush=True)
