"""Tools for agents: a server of the Model Context Protocol on standard input and output. `quasar mcp FOLDER` starts it.

It needs PyPI's package mcp. It reads and writes below FOLDER only, and runs no program but quasar itself: files that name other files or
programs, such as a configuration or a .yaml file with a reader, are refused.
"""
from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

try:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # mcp 1.x
    try:
        from mcp.server.fastmcp import Context, FastMCP as MCPServer
        from mcp.server.fastmcp.exceptions import ToolError
    except ImportError as missing:
        raise SystemExit(f"quasar: `quasar mcp` needs PyPI's package mcp in {sys.executable}: pip install mcp ({missing})")

from . import QuasarError
from ._worker import program

BRIEF_RESULT = ("status", "reason", "quality", "faster", "cpu", "objectives", "seconds", "head", "warnings", "trials", "before")
BRIEF_BEST = ("trial", "params", "metrics", "holdout", "bytes", "latency_ms", "time_of_float", "operators", "answers", "processors")


class Refused(ToolError):
    """What a client may not ask for, or what quasar says against it: the client gets the words."""


def _program() -> str:
    try:
        return program()
    except QuasarError as why:
        raise Refused(str(why)) from None


class Folder:
    """What clients may name: nothing outside, by no link either."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path).resolve(strict=True)
        if not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is no folder")

    def inside(self, name: str) -> str:
        if not name:
            raise Refused("a path is empty")
        path = (self.path / name).resolve()
        if path != self.path and self.path not in path.parents:
            raise Refused(f"'{name}' leads out of {self.path}, below which this server works")
        return str(path)

    def model(self, name: str) -> str:
        return self.inside(name)

    def samples(self, name: str) -> str:
        if name == "random":
            return name
        path = Path(self.inside(name))
        if not path.is_dir() and path.suffix != ".npz":
            raise Refused(f"samples are '{name}', but must be a .npz file, a folder, or 'random'")
        return str(path)


async def _run(words: list[str], folder: Folder, context: Context | None = None, wanted: tuple[int, ...] = (0, 2)) -> Any:
    """quasar's document; its lines on standard error are told as progress."""
    process = await asyncio.create_subprocess_exec(_program(), *words, "--json", cwd=folder.path, stdin=asyncio.subprocess.DEVNULL,
                                                   stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=1 << 24)
    told: list[str] = []

    async def listen() -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            told.append(line.decode(errors="replace").strip())
            if context is not None:
                await context.report_progress(len(told), message=told[-1])

    assert process.stdout is not None
    try:
        out, _ = await asyncio.gather(process.stdout.read(), listen())
        code = await process.wait()
    except asyncio.CancelledError:
        process.send_signal(signal.SIGINT)  # a search keeps what it has found
        await process.wait()
        raise
    if code not in wanted:
        errors = [line for line in told if line.startswith("quasar:")] or told[-5:]
        raise Refused("\n".join(errors) or f"quasar ended with {code}")
    return json.loads(out)


def _given(**options: Any) -> list[str]:
    """--name=value of those that are not empty: no value is taken for an option."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value not in ("", None)]


def _brief_result(result: dict[str, Any]) -> dict[str, Any]:
    out = {key: result[key] for key in BRIEF_RESULT if key in result}
    out["float"] = {key: result["baseline"][key] for key in ("metrics", "holdout", "bytes", "latency_ms") if key in result["baseline"]}
    best = result.get("best")
    out["best"] = best and {key: best[key] for key in BRIEF_BEST if key in best}
    return out


def _brief_inspection(facts: dict[str, Any]) -> dict[str, Any]:
    out = dict(facts)
    if "nodes" in out:
        nodes = out.pop("nodes")
        out["quantized"] = sum(node["quantized"] for node in nodes)
        out["in_float"] = {node["name"]: node.get("why", "") for node in nodes if not node["quantized"]}
    if "examination" in out:
        examination = dict(out["examination"])
        examination.pop("ranges", None)
        examination["layers"] = examination["layers"][:10]
        out["examination"] = examination
    return out


def server(folder: str | os.PathLike[str]) -> MCPServer:
    """The server with its tools, for clients in the same process and tests."""
    place = Folder(folder)
    out = MCPServer("quasar", instructions=f"Quantizes ONNX models. Paths are below {place.path}. Begin with inspect, then search; "
                    "best.onnx lies in its output_dir. A result whose quality is poor is of no use; its reasons say what to try.")

    @out.tool()
    async def inspect(context: Context, model: str, samples: str = "", target: str = "", scheme: str = "", everything: bool = False) -> dict[str, Any]:
        """Shows a model's operators, what can be quantized and why not, and, with samples, which layers lose most. Of a quantized model, with a
        target that has rules (xint8): what breaks them. samples: a .npz file or a folder. everything: all nodes and layers."""
        words = ["inspect", place.model(model), *_given(target=target, scheme=scheme, calib=samples and place.samples(samples))]
        facts = await _run(words, place, context)
        return facts if everything else _brief_inspection(facts)

    @out.tool()
    async def quantize(context: Context, model: str, output: str, scheme: str = "U8S8_CHANNEL", samples: str = "", target: str = "") -> dict[str, Any]:
        """Quantizes a model with one scheme, without a search, and writes output. Schemes with calibration need samples; DYNAMIC and W4 need none."""
        if Path(place.inside(output)).exists():
            raise Refused(f"output '{output}' is there already; name another file")
        words = ["quantize", place.model(model), *_given(output=place.inside(output), scheme=scheme, target=target, calib=samples and place.samples(samples))]
        return await _run(words, place, context)

    @out.tool()
    async def search(context: Context, model: str, samples: str, output_dir: str = "quasar_out", time: str = "5m", metric: str = "", loss: float | None = None,
                     target: str = "", labels: str = "", everything: bool = False) -> dict[str, Any]:
        """Searches for the best quantized model without a configuration, as `quasar auto` does: best.onnx and report.html go to output_dir. samples: a
        .npz file or a folder of pictures, with labels or without. metric, loss: what may be lost, and how much. time: "90s", "5m", "1h"."""
        words = ["auto", place.model(model), place.samples(samples), *_given(output_dir=place.inside(output_dir), time=time, metric=metric, loss=loss, target=target)]
        if labels:
            words += _given(labels=place.inside(labels) if (place.path / labels).exists() else labels)
        result = await _run(words, place, context)
        return result if everything else _brief_result(result)

    @out.tool()
    async def evaluate(context: Context, model: str, samples: str, reference: str = "", metrics: list[str] | None = None, decoder: str = "") -> dict[str, Any]:
        """Scores a model: against the float model (reference) and against the labels in the samples. metrics: parts, cos, top1, mAP …"""
        words = ["evaluate", place.model(model), *_given(data=place.samples(samples), reference=reference and place.model(reference), decoder=decoder)]
        words += [f"--metric={metric}" for metric in metrics or []]
        return await _run(words, place, context)

    @out.tool()
    async def report(context: Context, output_dir: str, everything: bool = False) -> dict[str, Any]:
        """What an earlier search found: its result, advice, the shares of its parameters and its trials."""
        contents = await _run(["report", place.inside(output_dir)], place, context)
        if everything:
            return contents
        trials = [{key: trial[key] for key in ("number", "state", "values", "params")} for trial in contents["trials"]]
        return {"result": _brief_result(contents["result"]), "advice": contents["advice"], "importance": contents["importance"], "trials": trials}

    return out


def main(arguments: list[str] | None = None) -> None:
    """python -m quasar.mcp FOLDER"""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1 or given[0].startswith("-"):
        raise SystemExit("usage: quasar mcp FOLDER      the folder below which clients may read and write")
    try:
        made = server(given[0])
    except OSError as error:
        raise SystemExit(f"quasar: mcp: {error}")
    made.run()


if __name__ == "__main__":
    main()
