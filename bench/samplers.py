"""Optuna's samplers on the functions of samplers.cpp, as lines "sampler function trials median lower upper" (quartiles over seeds).

python bench/samplers.py SAMPLER… [--seeds 20] [--trials 200] [--functions integers …]     one process; tpe random qmc cma_es gp nsga_ii
python bench/samplers.py --overhead SAMPLER…                      ms of ask + tell with 20 parameters after 100 and 1000 trials
python bench/samplers.py --table QUASAR.tsv OPTUNA.tsv            both as a table in Markdown
"""
import argparse
import math
import random
import statistics
import sys
import warnings

LOOKS = (50, 100, 200)


def sphere(t, noise):
    return sum((t.suggest_float(f"x{i}", -5, 5) - 1) ** 2 for i in range(5))


def branin(t, noise):
    x, y = t.suggest_float("x", -5, 10), t.suggest_float("y", 0, 15)
    return (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def rosenbrock(t, noise):
    x = [t.suggest_float(f"x{i}", -2, 2) for i in range(4)]
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def integers(t, noise):
    x = [t.suggest_int(f"x{i}", 0, 20) for i in range(6)]
    return sum((i + 1) * (v - 3 * i) ** 2 for i, v in enumerate(x)) + abs(sum(x) - 45)


def categories(t, noise):
    """A choice costs its distance to the best one, and more where two neighbours differ in parity."""
    x = [t.suggest_categorical(f"x{i}", list(range(5))) for i in range(6)]
    order = [[(2 * v + 3 * i) % 5 for v in range(5)] for i in range(6)]
    return sum(order[i][v] for i, v in enumerate(x)) + sum(2 * ((a + b) % 2) for a, b in zip(x, x[1:]))


def conditional(t, noise):
    kind = t.suggest_categorical("kind", ["near", "far", "flat"])
    if kind == "flat":
        return 8
    if kind == "far":
        return 5 + abs(t.suggest_float("far_x", -5, 5))
    return (t.suggest_float("near_x", -5, 5) - 2) ** 2 + 0.1 * abs(t.suggest_int("near_n", 1, 50) - 7)


def noisy(t, noise):
    """Sphere in four dimensions under noise of deviation 1; what counts is the true value of what looks best."""
    true = sum((t.suggest_float(f"x{i}", -5, 5) - 1) ** 2 for i in range(4))
    t.set_user_attr("true", true)
    return true + noise.gauss(0, 1)


def zdt1(t, noise):
    x = [t.suggest_float(f"x{i}", 0, 1) for i in range(5)]
    g = 1 + 9 * sum(x[1:]) / 4
    return x[0], g * (1 - math.sqrt(x[0] / g))


def widths(t, noise):
    """Bits per layer: size against error, as in mixed precision."""
    bits = [t.suggest_categorical(f"x{i}", [4, 8, 16]) for i in range(8)]
    size = sum((1 + i % 3) * b for i, b in enumerate(bits)) / 240
    error = sum((1 + (5 * i) % 7) * 2.0 ** (-b / 4) for i, b in enumerate(bits)) / 16
    return size, error


SINGLE = (sphere, branin, rosenbrock, integers, categories, conditional, noisy)
SEVERAL = {zdt1: (1.1, 8.0), widths: (1.1, 1.1)}  # and the corner that hypervolume is taken from


def hypervolume(points, corner):
    volume, last = 0.0, corner[1]
    for x, y in sorted(points):
        if x < corner[0] and y < last:
            volume += (corner[0] - x) * (last - y)
            last = y
    return volume


def make(optuna, name, seed):
    kinds = {
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
        "qmc": lambda: optuna.samplers.QMCSampler(seed=seed, scramble=True),
        "cma_es": lambda: optuna.samplers.CmaEsSampler(seed=seed),
        "gp": lambda: optuna.samplers.GPSampler(seed=seed),
        "nsga_ii": lambda: optuna.samplers.NSGAIISampler(seed=seed),
    }
    return kinds[name]()


def looks(optuna, name, function, seed, trials):
    corner = SEVERAL.get(function)
    directions = ["minimize"] * (2 if corner else 1)
    study = optuna.create_study(directions=directions, sampler=make(optuna, name, seed))
    noise = random.Random(seed)
    study.optimize(lambda t: function(t, noise), n_trials=trials)
    done = study.trials
    out = []
    for n in LOOKS:
        if n > trials:
            continue
        if corner:
            out.append(hypervolume([tuple(t.values) for t in done[:n]], corner))
        else:
            best = min(done[:n], key=lambda t: t.value)
            out.append(best.user_attrs.get("true", best.value))
    return out


def measure(names, seeds, trials, functions):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    if "gp" in names:
        import torch

        torch.set_num_threads(1)
    for name in names:
        several = name in ("tpe", "random", "nsga_ii")
        for function in SINGLE + (tuple(SEVERAL) if several else ()):
            if functions and function.__name__ not in functions:
                continue
            curves = [looks(optuna, name, function, seed, trials) for seed in range(seeds)]
            for n, values in zip(LOOKS, zip(*curves)):
                q = statistics.quantiles(values, n=4, method="inclusive")
                print(name, function.__name__, n, f"{q[1]:.6g} {q[0]:.6g} {q[2]:.6g}", flush=True)


def overhead(names):
    """As bench_samplers --overhead: finished random trials are there, the first ask is not timed."""
    import os
    import tempfile
    import time

    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    space = {f"x{i}": optuna.distributions.FloatDistribution(-5, 5) for i in range(20)}
    draw = random.Random(1)
    for name in names:
        for n in (100, 1000):
            out = []
            for kind in ("memory", "sqlite"):
                with tempfile.TemporaryDirectory() as folder:
                    url = None if kind == "memory" else "sqlite:///" + os.path.join(folder, "study.db")
                    study = optuna.create_study(storage=url, sampler=make(optuna, name, 2))
                    points = ({k: draw.uniform(-5, 5) for k in space} for _ in range(n))
                    study.add_trials([optuna.create_trial(params=p, distributions=space, value=sum((x - 1) ** 2 for x in p.values()))
                                      for p in points])
                    asks = 20 if name != "gp" else 3
                    for i in range(asks + 1):
                        if i == 1:
                            start = time.perf_counter()
                        trial = study.ask()
                        study.tell(trial, sum((trial.suggest_float(k, -5, 5) - 1) ** 2 for k in space))
                    out.append(1000 * (time.perf_counter() - start) / asks)
            print(f"{name} {n} memory {out[0]:.3f} sqlite {out[1]:.3f} ms", flush=True)


def table(ours, theirs):
    def read(path):
        rows = (line.split() for line in open(path))
        return {(r[0], r[1], int(r[2])): tuple(map(float, r[3:6])) for r in rows if len(r) == 6}

    mine, others = read(ours), read(theirs)
    cell = lambda v: "{:.4g} ({:.3g}–{:.3g})".format(*v) if v else "–"
    titles = {"tpe": "TPE", "gp": "GP", "cma_es": "CMA-ES", "nsga_ii": "NSGA-II", "qmc": "QMC", "random": "Random"}
    for sampler, title in titles.items():
        functions = list(dict.fromkeys(f for s, f, _ in mine if s == sampler))
        if not functions:
            continue
        print(f"### {title}\n| function |" + "".join(f" {n}: Quasar | Optuna |" for n in LOOKS) + "\n" + "|---" * (1 + 2 * len(LOOKS)) + "|")
        for function in functions:
            row = [cell(side.get((sampler, function, n))) for n in LOOKS for side in (mine, others)]
            print(f"| {function} | " + " | ".join(row) + " |")
        print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("samplers", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--functions", nargs="*", default=[], help="only these")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--table", nargs=2)
    parser.add_argument("--overhead", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(*options.table)
    elif options.overhead:
        overhead(options.samplers)
    else:
        measure(options.samplers, options.seeds, options.trials, options.functions)


sys.exit(main())
