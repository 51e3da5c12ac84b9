"""Opens reports in headless Chromium: no errors on the console, every plot drawn, tables sort, nothing wider than the window.

usage: report.py QUASAR SOURCE_FOLDER        exit 77: there is no Chromium, nothing was tested
"""

import html
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if not browser:
    print("no Chromium here")
    sys.exit(77)
quasar, source = sys.argv[1], Path(sys.argv[2])
probe = (source / "tests/browser/probe.js").read_text()
EVIL = "</script><script>window.broken = true</script><img src=x onerror=\"window.broken = true\">"


def findings(page, folder, width):
    """What probe.js finds in a page, with what the console said."""
    probed = folder / "probed.html"
    head, tail = page.rsplit("</body>", 1)
    probed.write_bytes(f"{head}<script>{probe}</script></body>{tail}".encode())
    ran = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={folder}/profile",
         f"--window-size={width},1000", "--virtual-time-budget=4000", "--dump-dom", probed.as_uri()],
        capture_output=True, text=True, timeout=1500)
    match = re.search(r'<pre id="findings">(.*?)</pre>', ran.stdout, re.S)
    assert match, f"the page did not run: {ran.stderr[-2000:]}"
    found = json.loads(html.unescape(match.group(1)))
    found["console"] = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    return found


def check(what, found, sections, plots):
    print(what, {key: found[key] for key in ("plots", "tables", "sections")})
    assert not found["errors"] and not found["console"], (what, found["errors"], found["console"])
    assert not found["empty"], (what, "plots without content", found["empty"])
    assert not found["unsorted"], (what, "tables that do not sort", found["unsorted"])
    assert not found["wide"], (what, "wider than the window")
    assert not found["spilling"], (what, "sections with something wider than they are", found["spilling"])
    assert [name for name in found["sections"] if name in sections] == sections, (what, "in this order", found["sections"])
    assert found["sections"][0] == sections[0], (what, "first", found["sections"])
    assert found["plots"] >= plots, (what, found["plots"])
    assert not found["broken"], (what, "text from the model was run")
    assert all(found["pictures"]), (what, "a picture that is none", found["pictures"])
    assert found["reachable"] >= len(found["sections"]) + 1 and not found["unnamed"], (what, "by keyboard or ear", found["reachable"], found["unnamed"])


def text(path):
    return path.read_bytes().decode()  # byte by byte: ECharts holds line ends that must stay


def run(*arguments):
    return subprocess.run([quasar, *map(str, arguments)], check=True, capture_output=True, text=True)


def spoil(folder):
    """Puts markup wherever a report takes text from a model or a configuration."""
    result = json.loads((folder / "result.json").read_text())
    result["reason"] = EVIL
    result["baseline"]["model"] = EVIL
    for layer in result["best"].get("layers", []):
        layer["node"] = layer["why"] = EVIL + layer["node"]
    for cost in result["best"]["operator_costs"]["operators"]:
        cost["node"] = cost["type"] = EVIL + cost["node"]
    result["speed_gate"] = {"told": EVIL}
    for layer in result["best"].get("ranges", []):
        layer["node"] = EVIL + layer["node"]
    for sample in result["best"]["flips"]["worst"]:
        sample["file"] = EVIL
    result["best"]["flips"]["metric"] = EVIL
    result["best"]["flips"]["names"] = {str(number): f"{number}{EVIL}" for number in range(10)}
    result["best"]["flips"]["worst"][0]["picture"] = '"><script>window.broken = true</script>'
    (folder / "worst_samples" / f"sample_{result['best']['flips']['worst'][1]['sample']}.jpg").write_text(EVIL)
    (folder / "result.json").write_text(json.dumps(result))
    with sqlite3.connect(folder / "auto_search.db") as database:
        database.execute("update trial_params set param_name = ? where param_name = 'weight_params_quant_granularity'", (EVIL,))
        database.execute("insert into trial_system_attributes (trial_id, key, value_json) select trial_id, 'worker', ? from trials where number % 2", (json.dumps(EVIL),))
        lost = [{"worker": EVIL, "start_us": None, "found_us": 0}, {"worker": EVIL, "start_us": 0, "found_us": 10**15}]
        database.execute("insert into trial_system_attributes (trial_id, key, value_json) select trial_id, 'lost_runs', ? from trials where number = 2", (json.dumps(lost),))


with tempfile.TemporaryDirectory() as scratch:
    folder = Path(scratch)
    run("search", source / "examples/digits/search.yaml", "--output-dir", folder / "a", "--quiet", "--set", "plot_results=true")
    run("search", source / "examples/digits/search.yaml", "--output-dir", folder / "b", "--quiet", "--set",
        "search_space.weight_params.quant_granularity=[Channel]", "--set", "search_space.activation_params.calibration_method=[LayerwisePercentile]",
        "--set", "search_space.PercentileCandidates=[[99.99, 99.999, 99.9999], [99, 99.9, 99.99, 99.999, 99.9999]]",
        "--set", "eval_data_reader.class_names=[nought, one, two, three, four, five, six, seven, 'the eighth, which is two circles', nine]")
    page = text(folder / "a/report.html")
    parts = ["summary", "scores", "answers", "history", "workers", "importance", "slices", "parallel", "layers", "costs", "ranges", "flips", "trials", "reproduce", "time"]
    for width in (1280, 500):
        found = findings(page, folder, width)
        check(f"report at {width}", found, parts, 8)
        assert len(found["pictures"]) == 20, found["pictures"]
    page_b = text(folder / "b/report.html")
    check("long choices, named classes", findings(page_b, folder, 500), ["summary", "history", "slices", "flips", "trials"], 6)
    assert "the eighth, which is two circles" in page_b
    check("history alone", findings(text(folder / "a/opt_history.html"), folder, 900), ["history"], 1)
    check("importance alone", findings(text(folder / "a/param_importance.html"), folder, 900), ["importance"], 1)
    run("report", folder / "a", folder / "b")
    check("comparison", findings(text(folder / "a/comparison.html"), folder, 1280), ["compare-summary", "compare-history", "compare-layers"], 1)
    run("inspect", source / "examples/digits/digits.onnx", "--calib", source / "examples/digits/calibration.npz", "--latency", "--html", folder / "model.html")
    check("inspection", findings(text(folder / "model.html"), folder, 1280), ["model", "verdicts", "layers", "costs", "ranges", "nodes"], 8)
    (folder / "budget.yaml").write_text("".join(f"{key}_data_reader: {{reader: npz, path: {source}/examples/digits/{name}.npz, labels: label}}\n" for key, name in (("calib", "calibration"), ("eval", "evaluation")))
                                        + f"model_input: {source}/examples/digits/digits.onnx\nsearch_metric: L2\nleast_agreement: 0\nbudget: {{bytes: 0.6, groups: 4}}\nn_trials: 6\n")
    run("search", folder / "budget.yaml", "--output-dir", folder / "budget", "--quiet")
    page_budget = text(folder / "budget/report.html")
    check("budget", findings(page_budget, folder, 900), ["summary", "pareto"], 1)
    assert '"more_of":"bytes"' in page_budget
    # Costs as objectives, and trials that break a constraint.
    run("search", source / "examples/digits/search.yaml", "--output-dir", folder / "costs", "--quiet", "--set", "objectives=[{metric: bytes}, {metric: L2}]",
        "--set", "constraints=[{metric: L2, max: 0.002}]", "--set", "n_trials=12")
    found = findings(text(folder / "costs/report.html"), folder, 900)
    check("costs", found, ["summary", "history", "pareto", "trials"], 3)
    assert re.search(r"with bytes [0-9.]+ KB", found["text"]["summary"]), found["text"]["summary"]
    assert "L2 against size" in found["titles"] and not any(title.startswith("bytes against") for title in found["titles"]), found["titles"]
    violations = json.loads(run("report", folder / "costs", "--json").stdout)["trials"]
    assert ("misses" in found["text"]["trials"]) == any("violation" in trial for trial in violations)
    assert any("violation" in trial for trial in violations) and "keep the constraints" in found["text"]["pareto"], "no trial broke the constraint"
    run("report", folder / "a", folder / "costs")
    found = findings(text(folder / "a/comparison.html"), folder, 1280)
    check("two objectives", found, ["compare-summary", "compare-history"], 2)
    assert [title for title in found["titles"] if "so far" in title] == ["L2 of the best trial so far", "bytes of the best trial so far"], found["titles"]
    # A model for another processor, and a pipeline.
    result = json.loads((folder / "b/result.json").read_text())
    assert "not the target" not in found["text"]["compare-summary"]
    result["faster"] = None
    result["best"]["latency_ms"]["median"] = 1000 * result["baseline"]["latency_ms"]["median"]
    result["best"]["models"] = [{"name": "encoder", "file": "best/encoder.onnx", "bytes": 1000, "float_bytes": 4000, "bits": 8.0, "operators": {"quantized": 3, "float": 1}}]
    (folder / "b/result.json").write_text(json.dumps(result))
    run("report", folder / "b")
    found = findings(text(folder / "b/report.html"), folder, 1280)
    check("another processor", found, ["summary", "scores", "models", "trials"], 6)
    assert "which is not the target" in found["text"]["summary"] and "slower" not in found["text"]["summary"], found["text"]["summary"]
    spoil(folder / "a")
    run("report", folder / "a")
    check("hostile names", findings(text(folder / "a/report.html"), folder, 1280), parts, 8)
