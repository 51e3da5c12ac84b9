"""The river check itself: each kind of violation is found, and a clean tree passes."""
import tempfile
import unittest
from pathlib import Path

from river import violations

TABLE = "# comment\nbase  :\ngraph : base\nquant : graph base\n"
CASES = [  # file, its text, what the message must say ("" = no violation)
    ("quasar/graph/a.cpp", '#include "quasar/base/b.hpp"', ""),
    ("quasar/quant/ranges/x.cpp", '#include "quasar/quant/range.hpp"', ""),
    ("quasar/graph/a.cpp", "#include <vector>", ""),
    ("quasar/base/a.cpp", '#include "quasar/graph/g.hpp"', "may not include quasar/graph/g.hpp (base may include nothing)"),
    ("quasar/graph/a.hpp", '#  include <quasar/quant/range.hpp>', "may not include quasar/quant/range.hpp"),
    ("quasar/quant/ranges/x.cpp", '#include "quasar/quant/ranges/y.hpp"', "its sibling"),
    ("quasar/quant/plan.cpp", '#include "quasar/quant/ranges/y.hpp"', "may not include the extension"),
    ("quasar/graph/a.cpp", '#include "g.hpp"', "from the root"),
    ("quasar/graph/a.cpp", '#include "quasar/base/gone.hpp"', "does not exist"),
    ("quasar/new/a.cpp", "", "has no line in layers.txt"),
]


class River(unittest.TestCase):
    def check(self, table, file="quasar/base/b.hpp", text=""):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("base/b.hpp", "graph/g.hpp", "quant/range.hpp", "quant/ranges/y.hpp"):
                (root / "quasar" / name).parent.mkdir(parents=True, exist_ok=True)
                (root / "quasar" / name).touch()
            (root / "quasar/layers.txt").write_text(table)
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text + "\n")
            return list(violations(root))

    def test_includes(self):
        for file, text, message in CASES:
            with self.subTest(file=file, text=text):
                found = self.check(TABLE, file, text)
                self.assertEqual(len(found), 1 if message else 0, found)
                if message:
                    self.assertIn(file, found[0])
                    self.assertIn(message, found[0])

    def test_table(self):
        self.assertIn("may include each other", self.check("base : graph\ngraph : base\nquant :\n")[0])
        self.assertIn("which has no line", self.check("base : air\ngraph :\nquant :\n")[0])


if __name__ == "__main__":
    unittest.main()
