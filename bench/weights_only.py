"""4-bit weights in groups of 32 (MatMulNBits): ONNX Runtime's own quantizer (its default, RTN and GPTQ) and ours, on the same samples in one run.
usage: PYTHON bench/weights_only.py QUASAR MINILM_FOLDER [samples]
PYTHON: numpy, onnx, onnxruntime, onnx_ir. MINILM_FOLDER is what export_minilm.py wrote. L2 and cosine to the float model on the evaluation sentences,
its two halves apart (how much is noise); seconds are of the whole job, ours with loading and saving."""
import logging
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort

OURS = {"RTN_G32ASYM": [], "W4 (MinMSE ranges)": ["scheme=W4"], "AWQ_G32ASYM": [], "AWQ_G32ASYM without clipping": ["scheme=AWQ_G32ASYM", "awq_params.scale_search=false"],
        "GPTQ_G32ASYM": [], "GPTQ_G32ASYM without clipping": ["scheme=GPTQ_G32ASYM", "gptq_params.scale_search=false"],
        "adaround": ["scheme=RTN_G32ASYM", "algorithms=adaround"], "adaquant": ["scheme=RTN_G32ASYM", "algorithms=adaquant"],
        "GPTQ_G32ASYM_DISABLE_LAST_MATMUL": [], "GPTQ_G128ASYM": []}


class Samples:
    """ONNX Runtime's calibration reader protocol."""
    def __init__(self, samples):
        self.samples, self.at = samples, 0

    def get_next(self):
        self.at += 1
        return self.samples[self.at - 1] if self.at <= len(self.samples) else None

    def rewind(self):
        self.at = 0

    def __iter__(self):
        return iter(self.samples)


def split(file, names, most=None):
    arrays = np.load(file)
    return [{name: arrays[name][i:i + 1] for name in names} for i in range(len(arrays[names[0]]))][:most]


def outputs(path, samples):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, sample)[0].reshape(1, -1) for sample in samples])


def peers(model, calibration):
    """-> (name, function that writes the model)"""
    from onnxruntime.quantization import matmul_nbits_quantizer as nbits

    def writer(**how):
        def write(path):
            tool = nbits.MatMulNBitsQuantizer(onnx.load(model), block_size=32, is_symmetric=False, **how)
            tool.process()
            tool.model.save_model_to_file(path, False)
        return write
    yield "ONNX Runtime, default", writer()
    yield "ONNX Runtime, RTN", writer(algo_config=nbits.RTNWeightOnlyQuantConfig())
    yield "ONNX Runtime, GPTQ", lambda path: writer(algo_config=nbits.GPTQWeightOnlyQuantConfig(calibration_data_reader=Samples(calibration), block_size=32,
                                                                                              actorder=True))(path)


def main():
    logging.disable(logging.INFO)
    quasar, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    most = int(sys.argv[3]) if len(sys.argv) > 3 else None
    model = str(folder / "minilm.onnx")
    names = [value.name for value in ort.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs()]
    calibration, evaluation = split(folder / "calib.npz", names, most), split(folder / "eval.npz", names)
    wanted = outputs(model, evaluation)

    def row(name, path, start, seconds=None):
        seconds = time.time() - start if seconds is None else seconds
        found = outputs(path, evaluation)
        distance = np.linalg.norm(wanted - found, axis=1)
        cosine = (wanted * found).sum(1) / np.linalg.norm(wanted, axis=1) / np.linalg.norm(found, axis=1)
        half = len(distance) // 2
        print(f"| {name} | {distance.mean():.4f} ({distance[:half].mean():.4f}, {distance[half:].mean():.4f}) | {cosine.mean():.5f} | "
              f"{pathlib.Path(path).stat().st_size / 1e6:.1f} | {seconds:.1f} |", flush=True)

    print(f"| {len(calibration)} calibration, {len(evaluation)} evaluation sentences | L2 (both halves) | cosine | MB | s |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        out = str(pathlib.Path(temporary) / "out.onnx")
        for name, write in peers(model, calibration):
            start = time.time()
            try:
                write(out)
                row(name, out, start)
            except Exception as error:
                print(f"| {name} | fails: {str(error)[:120]} | | | |", flush=True)
        for name, settings in OURS.items():
            settings = settings or [f"scheme={name}"]
            if most:
                settings = settings + [f"CalibDataSize={most}"]
            scheme = next(s for s in settings if s.startswith("scheme="))[7:]
            words = [word for setting in settings if not setting.startswith("scheme=") for word in ("--set", setting)]
            start = time.time()
            done = subprocess.run([quasar, "quantize", model, "-o", out, "--scheme", scheme, "--calib", str(folder / "calib.npz"), *words],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                print(f"| {name} | fails: {done.stderr.strip().splitlines()[-1][:160]} | | | |", flush=True)
                continue
            row("Quasar, " + name, out, start)


if __name__ == "__main__":
    main()
