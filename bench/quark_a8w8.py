"""The grid of A8W8_SEARCH without CLE and fine-tuning (12 configurations), Quark against Quasar in one run.
usage: PYTHON_OF_QUARK bench/quark_a8w8.py QUASAR SHARED [repetitions]"""
import copy
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from jobs import mobilenet, search, trials

SPACE = {
    "activation": ["Int8Spec"],
    "activation_params": {"symmetric": [True, False], "calibration_method": ["MinMax", "Percentile", "LayerwisePercentile"],
                          "only_if": "activation"},
    "weight": ["Int8Spec"],
    "weight_params": {"symmetric": [True], "calibration_method": ["MinMax"], "quant_granularity": ["Tensor"], "only_if": "weight"},
    "PercentileCandidates": [[99.99, 99.999, 99.9999], [99, 99.9, 99.99, 99.999, 99.9999]],
}


def quark(shared, folder):
    """Quark's preset with the same space -> (seconds, sorted distances). In this process, so that imports are not counted."""
    from inputs import MODEL, Reader, load
    from onnxruntime.quantization.calibrate import CalibrationDataReader
    from quark.onnx import AutoSearchPro
    from quark.onnx.quantization.auto_search import get_auto_search_config

    class Data(Reader, CalibrationDataReader):
        pass

    config = copy.deepcopy(get_auto_search_config("A8W8_SEARCH"))
    for key in ("algorithms", "adaquant_params", "adaround_params", "cle_algo", "cle_params"):
        config["search_space"].pop(key, None)
    config["search_space"].update(SPACE)
    config.update(model_input=MODEL, calib_data_reader=Data(load("calib")[0]), eval_data_reader=Data(load("eval")[0]),
                  output_dir=str(folder / "quark"), temp_dir=str(folder / "quark_tmp"), search_algo="Grid", n_trials=1000, two_stage_search=False)
    start = time.time()
    AutoSearchPro(config).run()
    seconds = time.time() - start
    log = "".join(path.read_text(errors="replace") for path in (folder / "quark").glob("*.log"))
    return seconds, sorted(float(x) for x in re.findall(r"distance is: *([0-9.eE+-]+)", log))


def main():
    quasar, shared = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    repetitions = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = mobilenet(shared, folder)
        seconds = []
        for i in range(repetitions):
            took, result = search(quasar, folder, model, SPACE, f"quasar{i}", n_jobs=2)
            seconds.append(took)
        ours = sorted(metrics["L2"] for metrics in trials(folder, "quasar0").values())
        theirs_seconds, theirs = quark(shared, folder)
        print(f"quasar: {statistics.median(seconds):.2f} s (median of {repetitions}), {result['trials']}")
        print(f"quark:  {theirs_seconds:.1f} s, {len(theirs)} trials")
        print(f"ratio:  {theirs_seconds / statistics.median(seconds):.1f}")
        print("distances, quasar:", [round(x, 4) for x in ours])
        print("distances, quark: ", [round(x, 4) for x in theirs])


if __name__ == "__main__":
    main()
