"""docs/zoo.md from the rows that bench/zoo.py has measured."""
import datetime
import json
import math
import pathlib
import re
import subprocess

from . import catalogue, truth

NAMES = {"inspect": "inspect", "channel": "U8S8_CHANNEL", "ignore": "U8S8_CHANNEL with saturation: ignore",
         "tensor": "A8W8", "dynamic8": "DYNAMIC", "ignore8": "DYNAMIC with saturation: ignore", "adaquant": "U8S8_CHANNEL with adaquant", "search": "search", "speed": "search with least_agreement: 0", "repair": "repair",
         "static": "quantize_static", "dynamic": "quantize_dynamic"}
PEERS = ("static", "dynamic")
OURS = [name for name in NAMES if name not in PEERS]
WORSE = 1.1  # by less than that two results count as alike


def number(x, digits=2):
    return "–" if x is None else f"{x:.{digits}g}" if abs(x) < 1000 else f"{x:.0f}"


def percent(x):
    return "" if x is None else f", {100 * x:.0f} %" if x < 0.9995 else ", 100 %"


def cell(row, name):
    """Distance of one result, or why there is none"""
    job = row["jobs"].get(name)
    if job is None: return ""
    if "error" in job: return "✗"
    return "does not run" if "fails" in job else number(job.get("rel"))


def found(row, name):
    """What a search came to: distance, task, MB, time of float's on one thread and on all, words"""
    job = row["jobs"].get(name)
    if job is None or "error" in job or "rel" not in job: return cell(row, name)
    words = f"{job.get('quality')}{'' if job.get('faster') else ', not faster'}"
    return f"{number(job['rel'])}{percent(job.get('task'))}; {job['bytes'] / 1e6:.2f} MB; {number(job.get('times'))} ×, {number(job.get('times_all'))} × ({words})"


def peer(row, name):
    """What a peer's quantizer came to: distance, task, time of float's; nothing where it quantized nothing"""
    job = row["jobs"].get(name, {})
    if job.get("rel") is not None and job["rel"] < 1e-5: return "–"
    return f"{number(job['rel'])}{percent(job.get('task'))}; {number(job.get('times'))} ×" if job.get("rel") is not None else cell(row, name)


def worst(row, what, names):
    return max((row["jobs"][name][what] for name in names if name in row["jobs"]), default=0)


def plain(words):
    """Words of an error without the model's own names, so that models with the same one stand together"""
    words = re.sub(r"/\S+/", "", words).removeprefix("quasar: ").replace("|", "/").replace("<", "‹").replace(">", "›")
    return re.sub(r"its \d+ Conv", "its Conv", re.sub(r"(its constant|tensor name:) '?[^' )]+'?", r"\1 …", words))


def comparisons(rows):
    """-> (name, what is worse); in brackets what our scheme does where sums of 16 bits may overflow, as the peer's may"""
    units = {"rel": lambda x: number(x), "times": lambda x: f"{number(x)} ×", "bytes": lambda x: f"{x / 1e6:.2f} MB"}
    for name, row in rows.items():
        said = []
        for ours, theirs, counted in (("channel", "static", units), ("search", "static", ("rel", "times")), ("dynamic8", "dynamic", units)):
            a, b, exact = (row["jobs"].get(k, {}) for k in (ours, theirs, {"channel": "ignore", "dynamic8": "ignore8"}.get(ours)))
            if b.get("rel") is None or b["rel"] < 1e-5: continue  # no model, or one in which nothing is quantized
            if a.get("rel") is None: said.append(f"{NAMES[ours]} gives no model, {NAMES[theirs]} one with {number(b['rel'])}")
            for key in counted if a.get("rel") is not None else ():
                if a[key] > max(WORSE * b[key], 1e-4):
                    why = f" ({units[key](exact[key])} with `saturation: ignore`)" if key != "bytes" and exact.get(key) is not None else ""
                    price = f" at {number(b['times'])} ×" if key != "times" and b["times"] > 1.5 else ""
                    said.append(f"{NAMES[ours]} {units[key](a[key])}{why}, {NAMES[theirs]} {units[key](b[key])}{price}")
        if said: yield name, said


def mean_gain(rows, kind, job):
    """-> how many, geometric mean of float's time over the best model's, among results that are not poor"""
    found = [row["jobs"].get(job(row)) or {} for row in rows.values() if row["kind"] == kind]
    gains = [1 / one["times"] for one in found if one.get("times") and one.get("quality") != "poor"]
    return len(gains), math.exp(sum(map(math.log, gains)) / len(gains)) if gains else float("nan")


def for_speed(row):
    """What says most of a model's speed: the answers of made-up weights, which hardly differ between samples, decide nothing"""
    return "speed" if row["jobs"].get("speed", {}).get("times") else "search"


def fastest(row):
    """The job that gave the fastest model, whatever its answers"""
    times = {name: job["times"] for name, job in row["jobs"].items() if name != "float" and job.get("times") and job.get("rel", 0) > 1e-5}
    return min(times, key=times.get, default="search")


def rows_of(given, known):
    rows = {name: json.loads((given.folder / name / "row.json").read_text()) for name in known if (given.folder / name / "row.json").exists() and (not given.only or name in given.only)}
    for name, row in rows.items(): row["kind"] = known[name].kind
    return rows


def limits(rows):
    return " or ".join(f"{limit} s" if limit else "as long as it likes" for limit in sorted({row["limit"] for row in rows.values()}))


def machine(given):
    """Date, version, processor"""
    version = subprocess.run([given.quasar, "--version"], capture_output=True, text=True).stdout.strip()
    processor = pathlib.Path("/proc/cpuinfo").read_text()
    model_name = re.search(r"model name\s*: (.*)", processor)
    return (f"{datetime.date.today()}, {version}; {model_name[1] if model_name else 'unknown processor'}, {processor.count('processor	')} cores, "
            f"VNNI on {len(re.findall('vnni', processor))} lines of cpuinfo.")


def beaten(rows, theirs, times="times"):
    """Models whose best one is slower than another's with answers as good or better; `times_all`: on all cores"""
    for name, row in rows.items():
        a, b = (row["jobs"].get(job, {}) for job in ("search", theirs))
        if None in (a.get(times), b.get(times), a.get("rel"), b.get("rel")) or b["rel"] < 1e-5: continue
        if b["rel"] <= a["rel"] and (b.get("task") or 0) >= (a.get("task") or 0) and a[times] > WORSE * b[times]: yield name


def goals(rows):
    searches = [row["jobs"]["search"] for row in rows.values() if row["jobs"]["search"].get("faster") is not None]
    lines = [f"- Not faster than float: {sum(not search['faster'] for search in searches)} of {len(searches)} searches."]
    for kind in ("convolutional", "transformer", "recurrent"):
        count, mean = mean_gain(rows, kind, lambda row: "search")
        fair = mean_gain(rows, kind, for_speed)
        static = mean_gain(rows, kind, lambda row: "static")
        said = f"; {fair[1]:.2f} of {fair[0]} where `least_agreement: 0` leaves answers of made-up weights out" if any("speed" in row["jobs"] for row in rows.values()) else ""
        peers = f"; quantize_static's {static[1]:.2f} (of {static[0]}, whatever their answers)" if static[0] else ""
        lines.append(f"- {kind.capitalize()} models: float takes {mean:.2f} × the best model's time (geometric mean of {count} that are not poor){said}{peers}; "
                     f"the fastest form that was measured, whatever its answers, {mean_gain(rows, kind, fastest)[1]:.2f}.")
    words = {word: [name for name, row in rows.items() if row["jobs"]["search"].get("quality") == word] for word in ("good", "check", "poor")}
    none = [name for name, row in rows.items() if "rel" not in row["jobs"]["search"]]
    lines.append(f"- No model from the search: {len(none)}{' (' + ', '.join(none) + ')' if none else ''}.")
    lines += task_lost(rows)
    for theirs in ("static", "dynamic"):
        count = sum("rel" in row["jobs"].get(theirs, {}) for row in rows.values())
        if count: lines.append(f"- Slower than {NAMES[theirs]}'s model, of {count}, where that one's answers are as good or better: {', '.join(beaten(rows, theirs)) or 'none'}; on all cores: {', '.join(beaten(rows, theirs, 'times_all')) or 'none'}.")
    slower = [f"{name} {search['times_all']:.2f}" for name, search in ((name, row["jobs"]["search"]) for name, row in rows.items()) if search.get("faster") and search.get("times_all", 0) > 1.02]
    lines.append(f"- Called faster than float, and above 1.02 × on all cores: {', '.join(slower) or 'none'}.")
    return lines + [f"- Quality `{word}`: {len(names)}" + (f" ({', '.join(names)})." if word == "poor" and names else ".") for word, names in words.items()]


def task_lost(rows):
    """Of the models with a task"""
    real = {name: row["jobs"]["search"] for name, row in rows.items() if row["source"] != "made up" and row["jobs"]["search"].get("task") is not None}
    known = {name: row["float"]["right"] - job["right"] for name, row in rows.items() if (job := row["jobs"]["search"]).get("right") is not None}
    lost = {name: known.get(name, 1 - job["task"]) for name, job in real.items() if job.get("quality") != "poor"}
    more = sorted((name for name in lost if lost[name] > 0.01), key=lambda name: -lost[name])
    named = [f"{name} {100 * lost[name]:.1f} %" + ("" if real[name].get("quality") == "good" else f" ({real[name].get('quality')})") for name in more]
    return [f"- More than 1 % of the task is lost, and the result is not poor: {len(more)} of {len(real)} with real weights ({', '.join(named) or 'none'}). "
            f"Of {len(known)} the right answers are known, of the others what differs from float's counts as lost."]


def right_answers(rows):
    lines = ["", "## Right answers", "On samples that neither calibration nor the search saw. Where right answers are known: classes of photographs, drawn text, how lines and pages were turned.", "",
             "| model | counted | samples | float | search | quantize_static | quantize_dynamic | seconds of the search |", "| --- " * 8 + "|"]
    share = lambda value: f"{100 * value:.1f} %" if value is not None else "–"
    for name, row in rows.items():
        if row.get("float", {}).get("right") is None: continue
        count, what, *_ = truth.TRUTHS[name]
        search = row["jobs"]["search"]
        peers = " | ".join(share(row["jobs"].get(job, {}).get("right")) for job in PEERS)
        lines.append(f"| {name} | {what} | {count} | {share(row['float']['right'])} | {share(search.get('right'))} ({search.get('quality')}) | {peers} | {search['seconds']:.0f} |")
    return lines


def searches(given):
    """The default search alone, a part of the page"""
    known = {model.name: model for model in catalogue()}
    rows = {name: row for name, row in rows_of(given, known).items() if "search" in row["jobs"]}
    lines = [machine(given), f"{len(rows)} models of {len(known)}; a search may take {limits(rows)}." + (f" {given.note}" if given.note else ""),
             "", *goals(rows), "", "| model | weights | float, ms | distance, task; size; × float on one thread, on all (quality) | of float's size | quantize_static: distance, task; × float | quantize_dynamic |", "| --- " * 7 + "|"]
    for name, row in rows.items():
        job = row["jobs"]["search"]
        lines.append(f"| {name} | {'made up' if known[name].source == 'made up' else 'real'} | {number(row.get('float', {}).get('ms'), 3)} | {found(row, 'search')} | "
                     f"{number(job['bytes'] / row['bytes']) if 'bytes' in job else '–'} | {peer(row, 'static')} | {peer(row, 'dynamic')} |")
    return "\n".join(lines + right_answers(rows))


def page(given):
    known = {model.name: model for model in catalogue()}
    rows = rows_of(given, known)
    real = [name for name in rows if known[name].source != "made up"]
    lines = ["# Many models, one row each", "`PYTHON bench/zoo.py build/release/quasar FOLDER SHARED` made the rows, with `--table` this page.", "",
             machine(given),
             f"{len(rows)} models of {len(known)} have a row; {len(real)} of them have real weights. Searches may take {limits(rows)} each." + (f" {given.note}" if given.note else ""), "",
             "- Distances are ‖y − ŷ‖ / ‖y‖ of the worst output, over evaluation samples that nobody calibrated with.",
             "- The per cent after a distance are the task's: agreement with the float model, listed below.",
             "- Times are medians of ratios to the float model, in turns in one process; first one thread, then all.",
             "- ✗: no result, the words stand below. Nothing: not asked (large models have fewer jobs).",
             "- Peers are onnxruntime's `quantize_static` (per channel, uint8 activations, int8 weights, after `quant_pre_process`) and `quantize_dynamic` (per channel).",
             "- Seconds and MB are those of the longest and the largest process: Quasar's, then the peers' (with Python's own).", "",
             "| model | weights | opset | MB | float, ms | in integers | U8S8_CHANNEL | adaquant | static | A8W8 | DYNAMIC | dynamic | search | repair | s | MB peak |",
             "| --- " * 16 + "|"]
    for name, row in rows.items():
        told, value = row.get("quantized"), row.get("float", {})
        lines.append("| " + " | ".join([f"{name}" + (" (large)" if row["large"] else ""), "made up" if name not in real else "real", str(row.get("header", {}).get("opset", "")),
                                        f"{row['bytes'] / 1e6:.2f}", number(value.get("ms"), 3), f"{told[0]} of {told[1]}" if told else "–",
                                        *(cell(row, k) for k in ("channel", "adaquant", "static", "tensor", "dynamic8", "dynamic")), found(row, "search"), found(row, "repair"),
                                        f"{worst(row, 'seconds', OURS):.0f}, {worst(row, 'seconds', PEERS):.0f}", f"{worst(row, 'mb', OURS):.0f}, {worst(row, 'mb', PEERS):.0f}"]) + " |")
    lines += ["", "## Goals", *goals(rows)]
    lines += ["", "## Worse than the peer", f"By more than {WORSE - 1:.0%}.", ""] + [f"- **{name}**: {'; '.join(said)}." for name, said in comparisons(rows)]
    lines += ["", "## Crashes and refusals", ""]
    told = {}
    for name, row in rows.items():
        for job, of_it in [*row["jobs"].items(), ("measuring", row["measure"])]:
            failed = f"exit code {of_it['code']}: {plain(of_it['error'])}" if "error" in of_it else None
            if "fails" in of_it: failed = f"ONNX Runtime does not run it: {plain(of_it['fails'])}"
            if failed: told.setdefault(failed, {}).setdefault(NAMES.get(job, job), []).append(name)
    for words, by_job in told.items():
        models = {}
        for job, names in by_job.items(): models.setdefault(", ".join(names), []).append(job)
        lines.append("- " + "; ".join(f"{names} ({', '.join(of)})" for names, of in models.items()) + f": {words}")
    reasons = {}
    for name, row in rows.items():
        for why, count in (row.get("why_not") or {}).items(): reasons.setdefault(plain(why), {}).setdefault(name, []).append(count)
    lines += ["", "## Why operators stay in float", "", "| reason | operators | models |", "| --- | --- | --- |"]
    lines += [f"| {why} | {sum(map(sum, of.values()))} | {len(of)} |" for why, of in sorted(reasons.items(), key=lambda item: -sum(map(sum, item[1].values())))]
    lines += ["", "## Models", "None of them is in this repository; the script brings packages in by name.", "", "| model | what | task | from | licence |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {name} | {known[name].what} | {known[name].task[0] if known[name].task else '–'} | {known[name].source} | {known[name].licence} |" for name in rows]
    return "\n".join(lines)
