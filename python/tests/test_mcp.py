"""`quasar mcp FOLDER`, asked by a client of the same package, over standard input and output as agents do. QUASAR_PROGRAM names the program."""
import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from digits import DIGITS, MODEL, Case

HAS_MCP = importlib.util.find_spec("mcp") is not None
PROGRAM = os.environ.get("QUASAR_PROGRAM")


def answered(folder, calls):
    """[(tool, arguments)] -> [(is error, document or text)], and names of tools"""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def talk():
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        parameters = StdioServerParameters(command=PROGRAM, args=["mcp", str(folder)], env={**os.environ, "PATH": path})
        async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            out = []
            for name, arguments in calls:
                found = await session.call_tool(name, arguments)
                wrong = found.is_error if hasattr(found, "is_error") else found.isError
                content = found.structured_content if hasattr(found, "structured_content") else found.structuredContent
                out.append((wrong, "".join(part.text for part in found.content) if wrong else content))
            return names, out

    return asyncio.run(talk())


@unittest.skipUnless(HAS_MCP and PROGRAM, "the package mcp is not installed, or QUASAR_PROGRAM is not set")
class Tools(Case):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.place.mkdir()
        shutil.copy(MODEL, self.place / "model.onnx")
        for split in ("calibration", "evaluation"):
            shutil.copy(DIGITS / f"{split}.npz", self.place)

    def ask(self, *calls):
        return answered(self.place, calls)

    def test_the_way_from_a_model_to_a_better_one(self):
        names, found = self.ask(
            ("inspect", {"model": "model.onnx"}),
            ("quantize", {"model": "model.onnx", "output": "int8.onnx", "scheme": "A8W8", "samples": "calibration.npz"}),
            ("evaluate", {"model": "int8.onnx", "reference": "model.onnx", "samples": "evaluation.npz", "metrics": ["top1", "parts"]}),
            ("inspect", {"model": "int8.onnx", "target": "xint8"}),
            ("search", {"model": "model.onnx", "samples": "evaluation.npz", "output_dir": "out", "time": "2m"}),
            ("report", {"output_dir": "out"}))
        self.assertEqual(sorted(names), ["evaluate", "inspect", "quantize", "report", "search"])
        for wrong, document in found:
            self.assertFalse(wrong, document)
        inspected, quantized, scored, checked, searched, reported = (document for _, document in found)
        self.assertEqual((inspected["head"]["name"], inspected["quantized"]), ("classes", 34))
        self.assertIn("classifier", quantized["quantized"])
        self.assertTrue((self.place / "int8.onnx").exists())
        self.assertGreater(scored["metrics"]["top1"]["value"], 0.5)
        self.assertTrue(checked["rules"]["violations"])
        self.assertEqual(searched["status"], "ok")
        self.assertTrue((self.place / "out" / "best.onnx").exists())
        self.assertEqual(reported["result"]["best"]["trial"], searched["best"]["trial"])
        self.assertNotIn("layers", searched["best"])

    def test_nothing_outside_and_no_program(self):
        os.symlink(self.folder, self.place / "away")
        (self.place / "reader.yaml").write_text("{reader: npz, path: /etc/samples.npz}\n")
        (self.folder / "other.onnx").write_bytes(Path(MODEL).read_bytes())
        _, found = self.ask(
            ("inspect", {"model": "../other.onnx"}), ("inspect", {"model": str(self.folder / "other.onnx")}), ("inspect", {"model": "away/other.onnx"}),
            ("quantize", {"model": "model.onnx", "output": "../int8.onnx", "scheme": "DYNAMIC"}),
            ("quantize", {"model": "model.onnx", "output": "model.onnx", "scheme": "DYNAMIC"}),
            ("evaluate", {"model": "model.onnx", "samples": "reader.yaml"}),
            ("search", {"model": "model.onnx", "samples": "evaluation.npz", "output_dir": "../out"}),
            ("search", {"model": "model.onnx", "samples": "evaluation.npz", "metric": "--set=search_evaluator={command: [touch, hit]}"}),
            ("evaluate", {"model": "model.onnx", "samples": "evaluation.npz", "metrics": ["topp1"]}))
        for wrong, text in found:
            self.assertTrue(wrong, text)
        self.assertIn("leads out of", found[0][1])
        self.assertIn("there already", found[4][1])
        self.assertIn("top1", found[8][1])
        self.assertEqual(sorted(path.name for path in self.place.iterdir()), ["away", "calibration.npz", "evaluation.npz", "model.onnx", "reader.yaml"])
        self.assertFalse((self.folder / "int8.onnx").exists() or (self.folder / "out").exists())


@unittest.skipUnless(PROGRAM, "QUASAR_PROGRAM is not set")
class Start(Case):
    def test_by_the_command_that_pip_installs(self):
        command = Path(sys.executable).with_name("quasar")
        if not (HAS_MCP and command.exists()):
            self.skipTest("the package is not installed with its command and mcp")
        environment = {name: value for name, value in os.environ.items() if name != "QUASAR_PROGRAM"}
        done = subprocess.run([command, "mcp", "absent"], capture_output=True, text=True, env={**environment, "PATH": os.defpath}, stdin=subprocess.DEVNULL)
        self.assertIn("quasar: mcp: ", done.stderr)

    def test_a_folder_that_is_none(self):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run([PROGRAM, "mcp", "absent"], capture_output=True, text=True, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("absent" if HAS_MCP else "pip install mcp", done.stderr)


if __name__ == "__main__":
    unittest.main()
