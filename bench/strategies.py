"""Tuning strategies on four models: trials, seconds, operators given up, success (table); the true minimum of groups of operators in float on
the small models, by trying all subsets (truth); XINT8 with per-tensor weights to 1 % on MobileNet and FastestDet (xint8); MiniLM with
SmoothQuant alphas, fallback by blocks and 4-bit weights (minilm); Neural Compressor's own strategies on the table's models (inc).
usage: PYTHON_WITH_ONNXRUNTIME bench/strategies.py QUASAR SHARED [--minilm FOLDER] [--inc PYTHON_OF_INC] [--only table truth xint8 minilm inc]
       [--models digits …] [--strategies repair …] [--trials 60]"""
import argparse
import itertools
import json
import pathlib
import sqlite3
import subprocess
import tempfile
import time

import numpy as np

from jobs import READER, mobilenet
from ort_static import models, outputs

STRATEGIES = ["repair", "auto", "conservative", "basic", "mse", "mse_v2", "hawq_v2", "bayesian", "random", "tpe", "exhaustive", "sigopt"]
INC_STRATEGIES = ["auto", "conservative", "basic", "mse", "mse_v2", "bayesian", "random"]
DIGITS = pathlib.Path(__file__).resolve().parent.parent / "examples" / "digits"
PLAIN = {"weight": ["Int8Spec"], "activation": ["UInt8Spec"],
         "weight_params": {"only_if": "weight", "symmetric": [True], "quant_granularity": ["Channel"]},
         "activation_params": {"only_if": "activation", "symmetric": [False]}}


def npz(folder, name, model, calibration, evaluation):
    """-> configuration of a model whose samples are arrays"""
    import onnx
    given = onnx.load(model, load_external_data=False).graph
    initial = {i.name for i in given.initializer}
    entry = next(i.name for i in given.input if i.name not in initial)
    for split, samples in (("calib", calibration), ("eval", evaluation)):
        np.savez(folder / f"{name}_{split}.npz", **{entry: samples})
    return {"model_input": model, "calib_data_reader": {"reader": "npz", "path": str(folder / f"{name}_calib.npz")},
            "eval_data_reader": {"reader": "npz", "path": str(folder / f"{name}_eval.npz")}}


def below(loss):
    return {"criterion": "absolute", "tolerable_loss": loss}


def jobs(shared, folder):
    """name -> configuration with a goal that the default configuration misses"""
    given = {name: npz(folder, name, *rest) for name, *rest in models(pathlib.Path(shared)) if name in ("resnet8", "fastestdet")}
    digits = {"model_input": str(DIGITS / "digits.onnx"),
              "calib_data_reader": {"reader": "npz", "path": str(DIGITS / "calibration.npz"), "labels": "label"},
              "eval_data_reader": {"reader": "npz", "path": str(DIGITS / "evaluation.npz"), "labels": "label"}}
    net = {"model_input": mobilenet(shared, folder), "calib_data_reader": {**READER, "path": str(folder / "calib.npz")},
           "eval_data_reader": {**READER, "path": str(folder / "eval.npz")}}
    return {"digits": {**digits, "search_metric": "L2", "accuracy_criterion": below(0.0011)},
            "resnet8": {**given["resnet8"], "search_metric": "L2", "accuracy_criterion": below(0.025)},
            "mobilenet": {**net, "search_metric": "top1", "accuracy_criterion": {"criterion": "relative", "tolerable_loss": 0.01}},
            "fastestdet": {**given["fastestdet"], "search_metric": "L2", "accuracy_criterion": below(7)}}


def run(quasar, folder, config, name, **more):
    """-> seconds, result.json"""
    out, file = folder / name, folder / f"{name}.json"
    file.write_text(json.dumps({**config, "output_dir": str(out), **more}))
    start = time.time()
    ran = subprocess.run([quasar, "search", str(file), "--quiet"], capture_output=True, text=True)
    seconds = time.time() - start
    if ran.returncode not in (0, 2):
        print(f"{name}: {ran.stderr.strip()[-300:]}", flush=True)
        return seconds, None
    return seconds, json.loads((out / "result.json").read_text())


def fallen(params):
    """Operators that a configuration leaves above 8 bits."""
    def is_up(value):
        return value in ("float32", "float16", "bfloat16") or isinstance(value, dict) and "Int16" in str(value.get("activation"))
    return [name[5:] for name, value in params.items() if name.startswith("node ") and is_up(value)]


def short(names):
    return " ".join(name.split("/")[-2] if name.endswith(("Relu6", "BiasAdd")) else name.split("/")[-1] for name in names)


def tell(label, seconds, result, metric):
    if result is None:
        print(f"| {label} | fails | | {seconds:.1f} | | | |", flush=True)
        return
    best, counts = result["best"], result["trials"]
    value = "" if not best else f"{best['metrics'][metric]['value']:.4g}"
    # Recipes that are switched off leave operators in float too: what ONNX Runtime runs tells.
    print(f"| {label} | {result['status']} | {counts['executed']} ({counts['pruned']} given up early) | {seconds:.1f} | "
          f"{len(fallen(best['params'])) if best else ''} | {best['operators'] if best else ''} | {value} |", flush=True)


HEAD = "| | status | trials | seconds | operators given up | as ONNX Runtime runs them | value |\n| --- | --- | --- | --- | --- | --- | --- |"


def table(quasar, shared, folder, options):
    for model, config in jobs(shared, folder).items():
        if options.models and model not in options.models:
            continue
        print(f"\n{model}: {config['search_metric']}, {config['accuracy_criterion']}\n{HEAD}", flush=True)
        for strategy in options.strategies:
            criterion = {"max_trials": options.trials}
            if strategy == "hawq_v2":
                criterion["strategy_kwargs"] = {"hawq_v2_loss": "mse"}
            seconds, result = run(quasar, folder, config, f"{model}_{strategy}", strategy=strategy, tuning_criterion=criterion)
            tell(strategy, seconds, result, config["search_metric"])


PRODUCTS = ("Conv", "FusedConv", "ConvTranspose", "MatMul", "FusedMatMul", "Gemm", "FusedGemm")
INTEGER_PRODUCTS = ("QLinearConv", "QLinearMatMul", "QGemm", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "ConvInteger")


def float_products(model, folder):
    """-> "float of all": products in float and all of them, as ONNX Runtime runs the model."""
    import onnx
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    kinds = [node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node]
    number = lambda names: sum(kind in names for kind in kinds)
    return f"{number(PRODUCTS)} of {number(PRODUCTS) + number(INTEGER_PRODUCTS)}"


def evaluated(job, model):
    """-> the model's value in ONNX Runtime here: share of right answers, or mean distance of its outputs from float's"""
    given = np.load(job["evaluation"])
    ours = outputs(str(model), given["x"])
    if "y" in given:
        return float(np.mean([y.argmax() - job["label_offset"] == label for y, label in zip(ours, given["y"])]))
    return float(np.mean([np.linalg.norm(y - reference) for y, reference in zip(ours, outputs(job["model"], given["x"]))]))


def inc_job(shared, folder, model, config):
    """-> what bench/inc_strategy.py needs of the model, the samples as arrays"""
    given = {name: rest for name, *rest in models(pathlib.Path(shared))}
    path, calibration, evaluation = given[model]
    labels = {}
    if config["search_metric"] == "top1":
        labels = {"y": np.load(folder / "eval.npz")["y"]}
    for split, samples in (("calib", calibration), ("eval", evaluation)):
        np.savez(folder / f"inc_{split}.npz", x=samples, **(labels if split == "eval" else {}))
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    initial = {i.name for i in graph.initializer}
    goal = dict(config["accuracy_criterion"])
    if not labels:
        goal["higher_is_better"] = False
    return {"model": path, "input": next(i.name for i in graph.input if i.name not in initial), "calibration": str(folder / "inc_calib.npz"),
            "evaluation": str(folder / "inc_eval.npz"), "label_offset": 1, "goal": goal}


def inc(quasar, shared, folder, options):
    """Neural Compressor's strategies and ours, the same samples and goals: products in float and the value are found alike for both."""
    head = "| | trials | seconds | products in float | value |\n| --- | --- | --- | --- | --- |"
    for model, config in jobs(shared, folder).items():
        if options.models and model not in options.models:
            continue
        print(f"\n{model}: {config['search_metric']}, {config['accuracy_criterion']}\n{head}", flush=True)
        job = inc_job(shared, folder, model, config)
        for strategy in options.strategies:
            if strategy not in INC_STRATEGIES:
                continue
            seconds, result = run(quasar, folder, config, f"{model}_{strategy}_ours", strategy=strategy, tuning_criterion={"max_trials": options.trials})
            best = folder / f"{model}_{strategy}_ours" / "best.onnx"
            row = f"{float_products(best, folder)} | {evaluated(job, best):.4g}" if best.exists() else " | "
            print(f"| Quasar {strategy} ({result['status'] if result else 'fails'}) | {result['trials']['executed'] if result else ''} | {seconds:.1f} | {row} |", flush=True)
            if not options.inc:
                continue
            out, file = folder / f"inc_{model}_{strategy}.onnx", folder / "inc_job.json"
            file.write_text(json.dumps({**job, "strategy": strategy, "max_trials": options.trials, "out": str(out)}))
            start, ran = time.time(), None
            try:
                ran = subprocess.run([options.inc, str(pathlib.Path(__file__).with_name("inc_strategy.py")), str(file)], capture_output=True, text=True,
                                     timeout=options.limit, cwd=folder)
            except subprocess.TimeoutExpired:
                print(f"| Neural Compressor {strategy} | not done | > {options.limit} | | |", flush=True)
                continue
            said = [line[7:] for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
            if not said:
                print(f"| Neural Compressor {strategy} | fails: {ran.stderr.strip().splitlines()[-1][:120]} | {time.time() - start:.1f} | | |", flush=True)
                continue
            told = json.loads(said[0])
            row = f"{float_products(out, folder)} | {evaluated(job, out):.4g}" if told["model"] else " | "
            print(f"| Neural Compressor {strategy} ({'ok' if told['model'] else 'no model'}) | {told['evaluations']} | {told['seconds']:.1f} | {row} |", flush=True)


def truth(quasar, shared, folder, options):
    """All subsets of groups of neighbours in float, everything else as by default; strategies on the same operators one by one."""
    every = jobs(shared, folder)
    for model in ("digits", "resnet8"):
        config = every[model]
        goal = config["accuracy_criterion"]["tolerable_loss"]
        _, plain = run(quasar, folder, config, model + "_plain", search_space=PLAIN, strategy="repair", tuning_criterion={"max_trials": 200})
        nodes = [name[5:] for name in plain["best"]["params"] if name.startswith("node ")]
        groups = [list(group) for group in np.array_split(nodes, min(len(nodes), 8))]
        subsets = [chosen for k in range(len(groups)) for chosen in itertools.combinations(range(len(groups)), k)]
        space = {**PLAIN, "exclude": [[str(name) for g in chosen for name in groups[g]] or None for chosen in subsets]}
        plainly = {key: value for key, value in config.items() if key != "accuracy_criterion"}
        seconds, _ = run(quasar, folder, plainly, model + "_truth", search_space=space, search_algo="Grid", pruner="none", n_jobs=2)
        db = sqlite3.connect(folder / (model + "_truth") / "auto_search.db")
        read = lambda key: dict(db.execute("select number, value_json from trials join trial_user_attributes using (trial_id) where key = ?", [key]))
        left = {number: json.loads(words).get("exclude") or [] for number, words in read("config").items()}
        found = sorted((len(left[number]), json.loads(value)["L2"], short(left[number])) for number, value in read("metrics").items())
        good = [one for one in found if one[1] <= goal]
        print(f"\n{model}: {len(nodes)} operators in {len(groups)} groups, {len(found)} models in {seconds:.1f} s; without fallback {found[0][1]:.4g}, goal {goal}; "
              f"{len(good)} meet it, the fewest in float: {good[0] if good else 'none'}", flush=True)
        print(HEAD)
        tell("repair without repairs", 0, plain, "L2")
        print("  in float:", short(fallen(plain["best"]["params"])))
        one = {"activation": {"algorithm": ["minmax"], "dtype": ["uint8", "fp32"]}, "weight": {"granularity": ["per_channel"]}}
        recipes = {f"{name}_quantization": True for name in ("first_conv_or_matmul", "last_conv_or_matmul", "pre_post_process")}
        for strategy in ("conservative", "basic", "mse", "mse_v2", "hawq_v2"):
            criterion = {"max_trials": 200}
            if strategy == "hawq_v2":
                criterion["strategy_kwargs"] = {"hawq_v2_loss": "mse"}
            seconds, result = run(quasar, folder, config, f"{model}_truth_{strategy}", strategy=strategy, tuning_criterion=criterion,
                                  op_name_dict={".*": one}, recipes=recipes)
            tell(strategy, seconds, result, "L2")


def xint8(quasar, shared, folder, options):
    every = jobs(shared, folder)
    relative = {"criterion": "relative", "tolerable_loss": 0.01}
    detector = {"search_metric": "mAP(truth=float)", "decoder": "fastestdet", "accuracy_criterion": relative}
    print("\nXINT8, weights per tensor, to 1 %\n" + HEAD)
    for model, more in (("mobilenet", {}), ("fastestdet", detector)):
        if options.models and model not in options.models:
            continue
        seconds, result = run(quasar, folder, {**every[model], **more}, model + "_xint8", target="xint8", tuning_criterion={"max_trials": 100})
        metric = next(iter(result["best"]["metrics"])) if model == "mobilenet" else "mAP(truth=float)"
        tell(model, seconds, result, "top1" if model == "mobilenet" else metric)
        print("  given up:", short(fallen(result["best"]["params"])))
        print("  steps:", " ".join(f"{step['step']}:{step['value'] if step['value'] is None else round(step['value'], 4)}" for step in result["tuning"]["steps"]))


def minilm(quasar, shared, folder, options):
    config = {"model_input": str(options.minilm / "minilm.onnx"), "search_metric": "cos",
              "calib_data_reader": {"reader": "npz", "path": str(options.minilm / "calib.npz")},
              "eval_data_reader": {"reader": "npz", "path": str(options.minilm / "eval.npz"), "limit": 100}}
    print("\nMiniLM, cosine\n" + HEAD)
    smooth = {"smooth_quant": True, "smooth_quant_args": {"alpha": [0.3, 0.5, 0.7, 0.9]}}
    cases = {"basic, SmoothQuant alphas, 0.01": {"strategy": "basic", "recipes": smooth, "accuracy_criterion": below(0.01)},
             "basic, SmoothQuant alphas and fallback by blocks, 0.002": {"strategy": "basic", "recipes": smooth, "accuracy_criterion": below(0.002)},
             "repair, 0.002": {"strategy": "repair", "accuracy_criterion": below(0.002)},
             "basic, 4-bit weights, 0.01": {"strategy": "basic", "approach": "weight_only", "accuracy_criterion": below(0.01)},
             "basic, approach dynamic, 0.01": {"strategy": "basic", "approach": "dynamic", "accuracy_criterion": below(0.01)},
             "basic, approach auto, 0.005": {"strategy": "basic", "approach": "auto", "accuracy_criterion": below(0.005)}}
    for label, more in cases.items():
        seconds, result = run(quasar, folder, config, "minilm_" + str(len(label)) + more["strategy"], tuning_criterion={"max_trials": options.trials}, **more)
        tell(label, seconds, result, "cos")
        if result:
            print("  last steps:", [(step["step"], step["value"] and round(step["value"], 5)) for step in result["tuning"]["steps"][-6:]], flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar")
    parser.add_argument("shared")
    parser.add_argument("--minilm", type=pathlib.Path)
    parser.add_argument("--inc", help="Python with neural-compressor 2.6")
    parser.add_argument("--limit", type=int, default=600, help="seconds of one run of Neural Compressor")
    parser.add_argument("--only", nargs="+", default=["table", "truth", "xint8", "minilm"])
    parser.add_argument("--models", nargs="+", help="of the table and of xint8; all when left out")
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES, choices=STRATEGIES, help="of the table; all when left out")
    parser.add_argument("--trials", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for part in options.only:
            if part == "minilm" and not options.minilm:
                continue
            globals()[part](options.quasar, options.shared, pathlib.Path(name), options)


if __name__ == "__main__":
    main()
