"""What fuzzing begins with: small inputs of every form that the readers know, made here or taken from the repository's own.

of(target) -> [bytes], words(target) -> [bytes] that inputs of this kind hold.     seeds.py FOLDER writes them all as files.
"""
import io
import re
import sqlite3
import struct
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

import wire as w

ROOT = Path(__file__).resolve().parents[2]


# ---- models
def constants():
    """A Constant node in every form, whose values are added up."""
    forms = [("value", 4, w.text(5, w.tensor(1, [1], w.floats(1)))), ("value_float", 1, w.real(2, 1)), ("value_int", 2, w.number(3, 7)),
             ("value_floats", 6, w.real(7, 1)), ("value_ints", 7, w.number(8, 3)), ("value_string", 3, w.text(4, "s")),
             ("value_strings", 8, w.text(9, "s")),
             ("sparse_value", 11, w.text(22, w.sparse([2, 2], w.tensor(1, [1], w.floats(1)), w.tensor(7, [1], w.int64s(3)))))]
    return [w.model(w.inputs(w.value("x", [1])) + w.outputs(w.value("y")) + w.nodes(
        w.node("Constant", [], ["c"], w.attribute(name, kind, content)), w.node("Add", ["x", "c"], ["y"])))
        for name, kind, content in forms]


def typed_tensors():
    """Initializers of every type, in the field of their own and raw."""
    own = {1: w.real(4, 1), 2: w.packed(5, [7]), 3: w.packed(5, [7]), 4: w.packed(5, [7]), 5: w.packed(5, [7]), 6: w.packed(5, [7]),
           7: w.packed(7, [7]), 8: w.text(6, "s"), 9: w.packed(5, [1]), 10: w.packed(5, [7]), 11: w.text(10, struct.pack("<d", 1)),
           12: w.packed(11, [7]), 13: w.packed(11, [7]), 14: w.real(4, 1) + w.real(4, 2), 16: w.packed(5, [7]), 17: w.packed(5, [7]),
           21: w.packed(5, [7]), 22: w.packed(5, [7]), 23: w.packed(5, [7]), 25: w.packed(5, [7])}
    raw = {1: 4, 2: 1, 6: 4, 7: 8, 10: 2, 11: 8, 15: 16, 16: 2, 19: 1, 21: 1, 22: 1}
    return [w.tensor(kind, [1], data) for kind, data in own.items()] + [w.tensor(kind, [1], w.text(9, bytes(size))) for kind, size in raw.items()]


def with_weight(content):
    return w.model(w.inputs(w.value("x", ["N", 4])) + w.outputs(w.value("y")) + w.initializer("c", content) +
                   w.nodes(w.node("Add", ["x", "c"], ["y"])))


def subgraphs():
    branch = w.outputs(w.value("b")) + w.initializer("k", w.tensor(1, [1], w.floats(1))) + w.nodes(w.node("Mul", ["x", "k"], ["b"])) + w.text(2, "g")
    outer = w.initializer("k", w.tensor(1, [1], w.external(location="weights.bin", offset=4, length=4))) + branch
    yes = w.nodes(w.node("If", ["c"], ["b"], w.attribute("then_branch", 5, w.text(6, branch)) + w.attribute("else_branch", 5, w.text(6, branch)))) + \
        w.outputs(w.value("b")) + w.text(2, "n")
    both = w.attribute("then_branch", 5, w.text(6, yes)) + w.attribute("else_branch", 5, w.text(6, branch))
    return [w.model(w.inputs(w.value("x", [1]), w.value("c", [], 9)) + w.outputs(w.value("y")) + w.nodes(w.node("If", ["c"], ["y"], both))),
            w.model(w.inputs(w.value("x", [1]), w.value("c", [], 9)) + w.outputs(w.value("y")) + w.nodes(
                w.node("If", ["c"], ["y"], w.attribute("then_branch", 5, w.text(6, outer)) + w.attribute("graphs", 10, w.text(11, branch)))))]


def functions():
    """Calls within calls, attributes that are handed on, defaults, an output that is an input, subgraphs of functions."""
    slope = w.attribute("alpha", 1, w.text(21, "slope"))
    default = w.text(11, w.text(1, "slope") + w.real(2, 2) + w.number(20, 1))
    gate = w.function("Gate", ["a"], ["o"], [w.node("Elu", ["a"], ["t"], slope), w.node("Mul", ["t", "a"], ["o"])], more=default)
    twice = w.function("Twice", ["a", "unused"], ["o", "a"], [w.node("Gate", ["a"], ["h"], w.text(7, "my")),
                                                             w.node("Gate", ["h"], ["o"], w.text(7, "my"), "inner")])
    branch = w.outputs(w.value("r")) + w.nodes(w.node("Gate", ["a"], ["r"], w.text(7, "my"))) + w.text(2, "g")
    chooses = w.function("Chooses", ["a", "c"], ["o"], [w.node("If", ["c"], ["o"], w.attribute("then_branch", 5, w.text(6, branch)) +
                                                                w.attribute("else_branch", 5, w.text(21, "other")))])
    more = w.text(8, w.imports("my", 1)) + gate + twice + chooses
    call = w.attribute("slope", 1, w.real(2, 3)) + w.text(7, "my")
    other = w.attribute("other", 5, w.text(6, w.outputs(w.value("x")) + w.text(2, "o"))) + w.text(7, "my")
    ends = w.inputs(w.value("x", [1]), w.value("c", [], 9)) + w.outputs(w.value("y"))
    return [w.model(ends + w.nodes(w.node("Gate", ["x"], ["y"], call)), more),
            w.model(ends + w.nodes(w.node("Twice", ["x"], ["p", "q"], w.text(7, "my"), "t"), w.node("Add", ["p", "q"], ["y"])), more),
            w.model(ends + w.nodes(w.node("Chooses", ["x", "c"], ["y"], other)), more)]


def odd_models():
    conv = w.attribute("kernel_shape", 7, w.number(8, 3) + w.number(8, 3)) + w.attribute("auto_pad", 3, w.text(4, "SAME_UPPER"))
    weights = w.initializer("w", w.tensor(1, [2, 1, 3, 3], w.floats(*range(18)))) + w.initializer("b", w.tensor(1, [2], w.floats(1, 2)))
    net = w.inputs(w.value("x", ["N", 1, 4, 4])) + w.outputs(w.value("y", ["N", 2, 4, 4])) + weights + w.text(13, w.value("h", [1, 2, 4, 4])) + \
        w.nodes(w.node("Conv", ["x", "w", "b"], ["h"], conv, "conv"), w.node("Clip", ["h", "", "m"], ["y"])) + w.initializer("m", w.tensor(1, [], w.floats(6)))
    late = w.nodes(w.node("Relu", ["h"], ["y"], name="same"), w.node("Neg", ["x"], ["h"], name="same"))
    around = w.nodes(w.node("Add", ["x", "h"], ["y"]), w.node("Neg", ["y"], ["h"]))
    ends = w.inputs(w.value("x", [1])) + w.outputs(w.value("y"))
    named = w.text(14, w.text(1, "key") + w.text(2, "value")) + w.text(2, "producer") + w.text(6, "words")
    training = w.text(20, w.text(1, w.text(2, "i")) + w.text(2, w.initializer("t", w.tensor(1, [1], w.external(location="weights.bin")))))
    sequence = w.inputs(w.text(1, "s") + w.text(2, w.text(4, w.text(1, w.text(1, w.number(1, 1))))))
    spread = w.text(15, w.sparse([3], w.tensor(1, [1], w.floats(5), "c"), w.tensor(7, [1], w.int64s(2))))
    by_axis = w.text(15, w.sparse([2, 2], w.tensor(1, [1], w.floats(5), "c"), w.tensor(7, [1, 2], w.int64s(1, 0))))
    return [w.model(net, named), w.model(ends + late), w.model(ends + around), w.model(ends + w.nodes(w.node("Neg", ["x"], ["y"])), training),
            w.model(ends + sequence + w.nodes(w.node("Neg", ["x"], ["y"]))),
            *[w.model(ends + one + w.nodes(w.node("Add", ["x", "c"], ["y"]))) for one in (spread, by_axis)]]


def old_models():
    """Operators that newer operator sets write otherwise, and float16."""
    ends = w.inputs(w.value("x", [1, 2, 4, 4])) + w.outputs(w.value("y"))
    pads, axes = w.attribute("pads", 7, w.number(8, 1) * 8), w.attribute("axes", 7, w.number(8, 1))
    scales = w.attribute("scales", 6, w.real(7, 1) * 2 + w.real(7, 2) * 2) + w.attribute("mode", 3, w.text(4, "nearest"))
    olds = [("Pad", 10, pads), ("Squeeze", 11, axes), ("ReduceSum", 11, axes), ("Softmax", 11, w.attribute("axis", 2, w.number(3, 1))), ("Upsample", 8, scales),
            ("Clip", 6, w.attribute("max", 1, w.real(2, 6))), ("Dropout", 7, w.attribute("ratio", 1, w.real(2, 0.5))), ("Slice", 9, axes + w.attribute("starts", 7, w.number(8, 0)) +
             w.attribute("ends", 7, w.number(8, 1))), ("TopK", 9, w.attribute("k", 2, w.number(3, 1)))]
    half = w.inputs(w.value("x", [1], 10)) + w.outputs(w.value("y", [1], 10)) + w.initializer("c", w.tensor(10, [1], w.packed(5, [0x3c00]))) + w.nodes(
        w.node("Add", ["x", "c"], ["h"]), w.node("Cast", ["h"], ["y"], w.attribute("to", 2, w.number(3, 10))))
    return [w.model(ends + w.nodes(w.node(op, ["x"], ["y"], more)), version=version) for op, version, more in olds] + [w.model(half)]


def models():
    outside = [with_weight(w.tensor(1, [4], w.external(**entries))) for entries in (
        {"location": "weights.bin"}, {"location": "weights.bin", "offset": 3, "length": 16}, {"location": "../weights.bin"},
        {"location": "weights.bin", "offset": 250})]
    return odd_models() + old_models() + constants() + [with_weight(one) for one in typed_tensors()] + outside + subgraphs() + functions()


# ---- arrays
def npy(descr, shape, data, fortran=False, version=1):
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    width = 2 if version == 1 else 4
    header += b" " * (-(8 + width + len(header) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(width, "little") + header + data


def arrays():
    sizes = {"<f4": 4, "<f8": 8, "<f2": 2, ">f4": 4, "|i1": 1, "|u1": 1, "<i2": 2, "<u2": 2, "<i4": 4, ">u4": 4, "<i8": 8, "<u8": 8, "|b1": 1}
    plain = [npy(descr, "(2, 3)", bytes(range(6 * size))) for descr, size in sizes.items()]
    return plain + [npy("<f4", "(2, 3)", bytes(24), True), npy("<f4", "()", bytes(4)), npy("<f4", "(0, 3)", b""), npy("|u1", "(1, 2, 2, 3)", bytes(range(12))),
                    npy("|u1", "(2, 2, 3)", bytes(range(12)), version=2), npy("<f4", "(3,)", bytes(12), version=3), npy("|O", "(1,)", b"\x80"),
                    npy("<f8", "(3,)", struct.pack("<3d", float("nan"), float("inf"), 1e300)), npy("<f4", "(9223372036854775807, 2)", b"")]


def archive(members, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, data in members.items():
            packed.writestr(zipfile.ZipInfo(name + ".npy"), data, method)
    return out.getvalue()


def archives():
    x, y = npy("<f4", "(3, 2)", struct.pack("<6f", *range(6))), npy("<i8", "(3,)", struct.pack("<3q", 0, 1, 2))
    ids, places = npy("<i8", "(3, 2)", bytes(48)), npy("|u1", "(3, 4)", bytes(12))
    sets = [{"x": x}, {"x": x, "labels": y}, {"x": x, "ids": ids, "y": y}, {"data": x}, {"x": x, "y": places}, {"x": npy("<f4", "(3, 0)", b"")}, {}]
    return [archive(members, method) for members in sets for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]


# ---- pictures
def png(size, depth, color, row, more=b"", interlaced=0):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">2I5B", *size, depth, color, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(row)) + chunk(b"IEND", b"")


def pictures():
    palette = struct.pack(">I", 6) + b"PLTE" + bytes(range(6)) + struct.pack(">I", zlib.crc32(b"PLTE" + bytes(range(6))))
    made = [png((2, 2), 8, 2, (b"\0" + bytes(range(6))) * 2), png((3, 1), 8, 0, b"\1abc"), png((2, 2), 8, 6, (b"\2" + bytes(8)) * 2), png((1, 1), 16, 2, b"\4" + bytes(6)),
            png((8, 1), 1, 0, b"\0\x55"), png((2, 2), 8, 3, b"\0\0\1" * 2, palette), png((2, 2), 4, 0, b"\3\x12" * 2), png((2, 2), 8, 4, (b"\0" + bytes(4)) * 2),
            png((1, 1), 8, 2, b"\0abc", interlaced=1)]
    return made + [file.read_bytes() for file in sorted((ROOT / "tests/unit/data/pictures").glob("*.*g")) if file.stat().st_size < 2500]


# ---- configurations
BEGIN = "model_input: m.onnx\ncalib_data_reader: {reader: random}\n"
SPACE = "search_space: {activation: [Int8Spec], weight: [Int8Spec]}\n"


def configurations():
    blocks = [block for file in sorted(ROOT.glob("docs/*.md")) for block in re.findall(r"^```yaml[^\n]*\n(.*?)^```", file.read_text(), re.M | re.S)]
    files = [file.read_text() for file in sorted(ROOT.glob("examples/**/*.yaml"))]
    whole = [(BEGIN if "model_input" not in text else "") + text + (SPACE if "search_space" not in text else "") for text in blocks + files]
    forms = [BEGIN + SPACE, "a: &x [1, 2.5e3, .inf, -.Inf, .nan, 0x1F, 0o17, ~]\nb: *x\n", "{\"json\": [true, null, \"\\u00e9\"]}\n", "- 1\n- {a: b}\n",
             "? long\n: |\n  text\n  more\n", "a: !!str 1\n", "--- a\n--- b\n", ""]
    return [text.encode() for text in sorted(set(whole)) + forms]


# ---- studies
TABLES = {"studies": "study_id INTEGER PRIMARY KEY, study_name", "version_info": "version_info_id, schema_version, library_version",
          "study_directions": "study_id, direction, objective", "study_user_attributes": 'study_user_attribute_id, study_id, "key", value_json',
          "study_system_attributes": 'study_system_attribute_id, study_id, "key", value_json',
          "trials": "trial_id INTEGER PRIMARY KEY, number, study_id, state, datetime_start, datetime_complete",
          "trial_user_attributes": 'trial_user_attribute_id, trial_id, "key", value_json',
          "trial_system_attributes": 'trial_system_attribute_id, trial_id, "key", value_json',
          "trial_params": "param_id, trial_id, param_name, param_value, distribution_json",
          "trial_values": "trial_value_id, trial_id, objective, value, value_type",
          "trial_intermediate_values": "trial_intermediate_value_id, trial_id, step, intermediate_value, intermediate_value_type"}
ROWS = ["INSERT INTO version_info VALUES (1, 12, '5')", "INSERT INTO studies VALUES (1, 's')", "INSERT INTO study_directions VALUES (1, 'MINIMIZE', 0)",
        "INSERT INTO study_user_attributes VALUES (1, 1, 'metric', '\"L2\"')", "INSERT INTO trial_values VALUES (1, 1, 0, 0.5, 'FINITE')",
        "INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE', '2026-01-31 23:59:59.5', '2026-02-01 00:00:01')",
        "INSERT INTO trial_user_attributes VALUES (1, 1, 'config', '{\"a\": 1}')", "INSERT INTO trial_intermediate_values VALUES (1, 1, 3, NULL, 'NAN')",
        'INSERT INTO trial_params VALUES (1, 1, \'a\', 0, \'{"name": "CategoricalDistribution", "attributes": {"choices": ["x"]}}\')']
CHANGES = ["UPDATE trials SET number = number - 1", "UPDATE trials SET state = 'LOST'", "UPDATE trials SET datetime_start = '99999-99-99 99:99:inf'",
           "UPDATE trial_params SET param_value = 1e300", "UPDATE trial_values SET value = NULL, value_type = 'INF_POS'",
           "UPDATE trial_values SET value = NULL", "UPDATE trial_user_attributes SET value_json = '[[[['", "UPDATE study_directions SET direction = 'NOT_SET'",
           "UPDATE trial_params SET distribution_json = '{\"name\": \"IntDistribution\", \"attributes\": {\"low\": 1, \"high\": 5, \"step\": 2, \"log\": false}}'",
           "UPDATE trial_params SET distribution_json = '{\"name\": \"FloatDistribution\", \"attributes\": {\"low\": 0, \"high\": 1, \"step\": null, \"log\": true}}'",
           "DELETE FROM trials WHERE trial_id = 1", "DELETE FROM trial_values", "INSERT INTO study_directions VALUES (1, 'MAXIMIZE', 1)", "INSERT INTO studies (study_name) VALUES ('t')",
           "UPDATE version_info SET schema_version = 11", "INSERT INTO study_user_attributes VALUES (9, 1, 'predecessor', '\"s\"')",
           "UPDATE study_user_attributes SET value_json = '{\"objectives\": [{\"metric\": \"L2\"}]}'", "CREATE VIEW v AS SELECT 1",
           "UPDATE trial_system_attributes SET value_json = '[1, -1, \"x\"]'", "UPDATE trials SET datetime_complete = NULL, state = 'RUNNING'"]


def study_file():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "study.db")
        database = sqlite3.connect(path)
        database.execute("PRAGMA page_size = 512")
        for table, columns in TABLES.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
        for row in ROWS:
            database.execute(row)
        database.commit()
        database.close()
        return path.read_bytes()


MAKERS = {"model": models, "npy": arrays, "npz": archives, "pb": typed_tensors, "image": pictures, "configuration": configurations,
          "study": lambda: [study_file()] + [change.encode() for change in CHANGES]}


def of(target):
    return MAKERS[target]()


def words(target):
    if target == "configuration":  # what the documents call by its name, and what these make of it
        text = "\n".join(file.read_text() for file in sorted(ROOT.glob("docs/*.md")))
        found = set(re.findall(r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[A-Z][a-z]+[A-Z0-9]\w+\b", text))
        return sorted(word.encode() for word in found if len(word) < 40) + [b": ", b"\n  ", b"[", b"]", b"{", b"}", b".inf", b"null", b"!!str "]
    if target == "study":
        return sorted({word.encode() for text in CHANGES + ROWS + list(TABLES.values()) + list(TABLES) for word in re.findall(r"\w+|\"\w+\"|'\w*'", text)})
    if target in ("model", "pb"):
        return [b"Constant", b"If", b"Loop", b"location", b"offset", b"length", b"weights.bin", b"ai.onnx", b"my", b"Gate", b"then_branch"]
    if target in ("npy", "npz"):
        return [b"'descr': ", b"'fortran_order': ", b"'shape': ", b"True", b"False", b"'<f4'", b"'>i8'", b"'|u1'", b"(0,)", b"(1, 3, 2, 2)", b"\x93NUMPY", b"x.npy", b"labels.npy"]
    return []


if __name__ == "__main__":
    for one in MAKERS:
        place = Path(sys.argv[1], one)
        place.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(of(one)):
            place.joinpath(f"seed-{number:03}").write_bytes(data)
