"""The check of extensions' names itself: comparisons outside their own files are found, defaults and other words are not."""
import tempfile
import unittest
from pathlib import Path

from extension_names import violations

CASES = [  # file, a line of it, whether it is a violation
    ("quasar/tune/a.cpp", 'if (job.strategy == "repair") return;', True),
    ("quasar/tune/a.hpp", 'return "repair" != name;', True),
    ("quasar/strategy/strategies/basic.cpp", 'return name == "repair";', True),
    ("quasar/strategy/strategies/repair.cpp", 'return name == "repair";', False),
    ("quasar/tune/a.cpp", 'words["strategy"] = "repair";', False),
    ("quasar/tune/a.cpp", 'if (key == "repairs") return;', False),
    ("quasar/tune/a.cpp", '// once was: strategy == "repair"', False),
    ("quasar/tune/a.cpp", 'if (metric == "top1") return;', False),
]


class ExtensionNames(unittest.TestCase):
    def test_comparisons(self):
        for file, line, wrong in CASES:
            with self.subTest(file=file, line=line), tempfile.TemporaryDirectory() as folder:
                root = Path(folder)
                texts = {"quasar/CMakeLists.txt": 'quasar_extension_folder(quasar strategy/strategies tune::Strategy h "strategy")\n'
                                                  'quasar_extension_folder(quasar eval/metrics eval::Metric h "metric")\n',
                         "quasar/strategy/strategies/repair.cpp": "", "quasar/eval/metrics/top1.cpp": "", file: line}
                for name, text in texts.items():
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text + "\n")
                self.assertEqual(len(list(violations(root))), int(wrong))


if __name__ == "__main__":
    unittest.main()
