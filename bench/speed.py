"""What the speed gate gains: preset cpu_int8_search with it and without, each winner run in turns with the float model.
usage: python3 bench/speed.py QUASAR NAME=MODEL,CALIBRATION,EVALUATION [...]"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def searched(quasar, model, calibration, evaluation, gate):
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        ran = subprocess.run([quasar, "search", "--model", model, "--calib", calibration, "--eval", evaluation, "--preset", "cpu_int8_search", "--as-is",
                              "--set", f"speed_gate={gate}", "--output-dir", folder], capture_output=True, text=True)
        if ran.returncode not in (0, 2): sys.exit(ran.stderr)
        return json.loads((pathlib.Path(folder) / "result.json").read_text()), time.monotonic() - started


def main():
    quasar, models = sys.argv[1], sys.argv[2:]
    print("| model | float, ms | without the gate | with it | operators in float by it | parts without, with | seconds without, with |\n| --- | --- | --- | --- | --- | --- | --- |")
    for given in models:
        name, files = given.split("=", 1)
        off, off_s = searched(quasar, *files.split(","), "off")
        on, on_s = searched(quasar, *files.split(","), 1.02)
        shown = [f"{one['best']['time_of_float']['value']:.2f} × ({one['quality']}{'' if one['faster'] else ', not faster'})" for one in (off, on)]
        parts = [f"{one['best']['metrics']['parts']['value']:.3g}" for one in (off, on)]
        moved = sum(len(nodes) for nodes in on["speed_gate"]["regions"].values())
        print(f"| {name} | {on['baseline']['latency_ms']['median']:.3g} | {shown[0]} | {shown[1]} | {moved} | {parts[0]}, {parts[1]} | {off_s:.0f}, {on_s:.0f} |", flush=True)


if __name__ == "__main__":
    main()
