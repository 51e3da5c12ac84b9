"""What each command prints with --json keeps to its schema, and so do the configurations in examples and documents; what is wrong does not.
usage: schemas.py QUASAR SOURCE_FOLDER      exit 77: python3-jsonschema is not there
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"passed over: {missing}")
    sys.exit(77)

program, source = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
spec = importlib.util.spec_from_file_location("snippets", source / "tests/docs/snippets.py")
snippets = importlib.util.module_from_spec(spec)
spec.loader.exec_module(snippets)


def run(words, folder, wanted=0):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == wanted, (words, done.returncode, done.stderr[-2000:])
    return done.stdout


def checker(kind):
    schema = json.loads(run(["schema", kind], source))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def expect(kind, value):
    problems = [f"{'/'.join(map(str, error.path))}: {error.message[:300]}" for error in checker(kind).iter_errors(value)]
    assert not problems, (kind, problems)


def expect_wrong(kind, value):
    assert list(checker(kind).iter_errors(value)), (kind, "takes", value)


def printed(kind, words, folder, wanted=0):
    value = json.loads(run([*words, "--json"], folder, wanted))
    expect(kind, value)
    return value


def commands(folder):
    search = ["search", "--model", "model.onnx", "--calib", "calibration.npz", "--eval", "evaluation.npz", "--set", "n_trials=3", "--set",
              "search_space={activation: [UInt8Spec], weight: [Int8Spec], weight_params: {quant_granularity: [Tensor, Channel], only_if: weight}}"]
    expect("dry_run", json.loads(run([*search, "--dry-run"], folder)))
    result = printed("result", [*search, "--output-dir", "out", "--set", "search_metric=L2"], folder)
    on_disk = json.loads((folder / "out/result.json").read_text())
    assert on_disk == result
    assert result["best"]["params"]["weight_params_quant_granularity"] == "Channel"
    printed("first_search", ["auto", "model.onnx", "evaluation.npz", "--dry-run"], folder)
    poor = printed("result", ["auto", "model.onnx", "evaluation.npz", "--output-dir", "auto", "--loss", "0.9", "--set", "preset=null", "--set",
                              "search_space={activation: [Int8Spec], weight: [XInt8Spec]}", "--set", "target=ort_cpu"], folder, 2)
    assert poor["quality"] == "poor"
    quantize = ["quantize", "model.onnx", "-o", "int8.onnx", "--calib", "calibration.npz"]
    plain = printed("quantize", [*quantize, "--scheme", "A8W8", "--set", "exclude=[classifier]"], folder)
    assert "classifier" in plain["in_float"] and plain["bytes"] == (folder / "int8.onnx").stat().st_size
    assert printed("quantize", [*quantize, "--scheme", "A8W8_ADAROUND"], folder)["rounding"]["method"] == "adaround"
    printed("evaluate", ["evaluate", "int8.onnx", "--reference", "model.onnx", "--data", "evaluation.npz"], folder)
    for more in ([], ["--calib", "calibration.npz", "--latency"]):
        printed("inspect", ["inspect", "model.onnx", *more], folder)
    printed("inspect", ["inspect", "int8.onnx"], folder)
    printed("inspect", ["inspect", "int8.onnx", "--target", "xint8"], folder, 2)
    assert len(printed("report", ["report", "out"], folder)["trials"]) >= 2
    assert len(printed("report", ["report", "out", "auto"], folder)) == 2
    run(["report", "out", "--json", "--format", "csv"], folder, 1)
    for kind in ("lists", "keys", "samplers", "schemes"):
        printed("list", ["list", kind], folder)
    # A schema that takes anything would be none.
    for kind, value in (("result", {**result, "status": "fine"}), ("quantize", {**plain, "in_float": ["classifier"]}), ("list", {}), ("inspect", plain)):
        expect_wrong(kind, value)


def configurations():
    """Of the examples, and the blocks of all documents that are whole ones or parts of one."""
    count = 0
    for file in (source / "examples").rglob("search*.yaml"):
        expect("configuration", yaml.safe_load(file.read_text()))
        count += 1
    for document in [source / "README.md", *(source / "docs").glob("*.md")]:
        for language, marks, content in snippets.BLOCK.findall(document.read_text()):
            known = snippets.KINDS.match(marks.strip())
            if language == "yaml" and known and known["kind"] == "search":
                expect("configuration", yaml.safe_load(snippets.configuration(content, known["value"])))
                count += 1
    for wrong in ({"n_trails": 3}, {"n_jobs": "two"}, {"n_jobs": 0}, {"two_stage_search": "yes"}):
        expect_wrong("configuration", wrong)
    return count


with tempfile.TemporaryDirectory() as name:
    snippets.fill(pathlib.Path(name), source)
    commands(pathlib.Path(name))
    # A worker's needs a server: its schema is looked at, and tests of workers run the command.
    expect_wrong("worker", {"executed": "3"})
    expect_wrong("serve", {"address": "postgresql://a/b"})
    print(f"all commands and {configurations()} configurations keep to their schemas")
