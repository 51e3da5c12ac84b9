"""The river check itself: each kind of violation is found, and a clean tree passes."""
import tempfile
import unittest
from pathlib import Path

from river import MOST_FILES, violations

TABLE = "# comment\nbase  :\ngraph : base\nquant/codes : base\nquant : graph base\nentrance quant/npu : rule.hpp\n"
EXTENSIONS = 'quasar_extension_folder(quasar quant/codes/ranges quant::RangeMethod quasar/quant/codes/range.hpp "method")\n'
CASES = [  # file, its text, what the message must say ("" = no violation)
    ("quasar/graph/a.cpp", '#include "quasar/base/b.hpp"', ""),
    ("quasar/quant/codes/ranges/x.cpp", '#include "quasar/quant/codes/range.hpp"', ""),
    ("quasar/graph/a.cpp", "#include <vector>", ""),
    ("quasar/base/a.cpp", '#include "quasar/graph/g.hpp"', "may not include quasar/graph/g.hpp (base may include nothing)"),
    ("quasar/graph/a.hpp", '#  include <quasar/quant/plan.hpp>', "may not include quasar/quant/plan.hpp"),
    ("quasar/quant/codes/ranges/x.cpp", '#include "quasar/quant/codes/ranges/y.hpp"', "its sibling"),
    ("quasar/quant/plan.cpp", '#include "quasar/quant/codes/ranges/y.hpp"', "may not include the extension"),
    ("quasar/graph/a.cpp", '#include "g.hpp"', "from the root"),
    ("quasar/graph/a.cpp", '#include "quasar/base/gone.hpp"', "does not exist"),
    ("quasar/new/a.cpp", "", "has no line in layers.txt"),
    # Plain subfolders: files beside each other, and layers of their own where they have a line.
    ("quasar/quant/npu/x.cpp", '#include "quasar/quant/npu/rule.hpp"', ""),
    ("quasar/quant/npu/x.cpp", '#include "quasar/quant/plan.hpp"', ""),
    ("quasar/quant/plan.cpp", '#include "quasar/quant/codes/range.hpp"', ""),
    ("quasar/quant/codes/x.cpp", '#include "quasar/base/b.hpp"', ""),
    ("quasar/quant/codes/x.cpp", '#include "quasar/quant/plan.hpp"', "(quant/codes may include base)"),
    ("quasar/quant/codes/x.cpp", '#include "quasar/graph/g.hpp"', "(quant/codes may include base)"),
    # A folder with an entrance.
    ("quasar/quant/x.cpp", '#include "quasar/quant/npu/rule.hpp"', ""),
    ("quasar/quant/x.cpp", '#include "quasar/quant/npu/inner.hpp"', "quant/npu has an entrance: rule.hpp"),
    ("quasar/quant/npu/x.cpp", '#include "quasar/quant/npu/inner.hpp"', ""),
    ("quasar/graph/x.cpp", '#include "quasar/quant/codes/range.hpp"', "may not include quasar/quant/codes/range.hpp"),
]


class River(unittest.TestCase):
    def check(self, table=TABLE, files=()):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            usual = ("base/b.hpp", "graph/g.hpp", "quant/plan.hpp", "quant/npu/rule.hpp", "quant/npu/inner.hpp", "quant/codes/range.hpp", "quant/codes/ranges/y.hpp")
            for file, text in [(f"quasar/{name}", "") for name in usual] + list(files):
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(text + "\n")
            (root / "quasar/layers.txt").write_text(table)
            (root / "quasar/CMakeLists.txt").write_text(EXTENSIONS)
            return list(violations(root))

    def test_includes(self):
        for file, text, message in CASES:
            with self.subTest(file=file, text=text):
                found = self.check(files=[(file, text)])
                self.assertEqual(len(found), 1 if message else 0, found)
                if message:
                    self.assertIn(file, found[0])
                    self.assertIn(message, found[0])

    def test_table(self):
        self.assertIn("may include each other", self.check("base : graph\ngraph : base\nquant :\n")[0])
        self.assertIn("which has no line", self.check("base : air\ngraph :\nquant :\n")[0])

    def test_circles(self):
        # The circle goes through sources: no header alone shows it.
        a = [("quasar/base/a.hpp", ""), ("quasar/base/a.cpp", '#include "quasar/base/a.hpp"\n#include "quasar/base/b.hpp"')]
        self.assertEqual(self.check(files=a), [])
        b = [("quasar/base/b.cpp", '#include "quasar/base/c.hpp"'), ("quasar/base/c.hpp", '#include "quasar/base/a.hpp"')]
        found = self.check(files=a + b)
        self.assertEqual(len(found), 1, found)
        self.assertIn("in a circle: quasar/base/a -> quasar/base/b -> quasar/base/c -> quasar/base/a", found[0])
        # A source without a header of its name is a module of its own.
        b[0] = ("quasar/base/b_more.cpp", '#include "quasar/base/b.hpp"\n#include "quasar/base/c.hpp"')
        self.assertEqual(self.check(files=a + b), [])

    def test_every_circle_is_named_once(self):
        pairs = [("x", "y"), ("y", "x"), ("v", "w"), ("w", "v"), ("v", "x")]
        files = []
        for name in "vwxy":
            text = "\n".join(f'#include "quasar/base/{other}.hpp"' for one, other in pairs if one == name)
            files += [(f"quasar/base/{name}.hpp", text)]
        found = self.check(files=files)
        self.assertEqual(len(found), 2, found)

    def test_full_folders(self):
        full = [(f"quasar/graph/a{i}.hpp", "") for i in range(MOST_FILES)]  # and g.hpp
        self.assertEqual(self.check(files=full[1:]), [])
        found = self.check(files=full)
        self.assertEqual(len(found), 1, found)
        self.assertIn(f"quasar/graph: holds {MOST_FILES + 1} files", found[0])
        self.assertEqual(self.check(files=[(f"quasar/quant/codes/ranges/a{i}.cpp", "") for i in range(MOST_FILES + 1)]), [])


if __name__ == "__main__":
    unittest.main()
