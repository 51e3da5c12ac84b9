"""The check itself: what belongs to one system is found outside base, and nothing else is."""
import tempfile
import unittest
from pathlib import Path

from portable import violations

CASES = [  # file, a line of it, whether it is a violation
    ("src/quasar/data/a.cpp", "#include <unistd.h>", True),
    ("src/quasar/data/a.cpp", "#  include <sys/mman.h>", True),
    ("src/quasar/data/a.hpp", "#include <csignal>", True),
    ("src/quasar/eval/a.h", "#include <dlfcn.h>", True),
    ("python/src/a.cpp", "#include <windows.h>", True),
    ("src/quasar/base/a.cpp", "#include <unistd.h>", False),
    ("src/quasar/base/system/a.cpp", "#ifdef _WIN32", False),
    ("src/quasar/data/a.cpp", "#include <cstdio>", False),
    ("src/quasar/data/a.cpp", "#include <zip.h>", False),
    ("src/quasar/data/a.cpp", "#ifdef __linux__", True),
    ("src/quasar/data/a.cpp", "#if defined(X) && !defined(_WIN32)", True),
    ("src/quasar/data/a.cpp", "// once was: #ifdef __linux__", False),
    ("src/quasar/data/a.cpp", "::setenv(name, value, 0);", True),
    ("src/quasar/data/a.cpp", "if (isatty(2) != 0) return;", True),
    ("src/quasar/data/a.cpp", "process.kill();", False),
    ("src/quasar/data/a.cpp", "worker->kill();", False),
    ("src/quasar/data/a.cpp", "Process::kill();", False),
    ("src/quasar/data/a.cpp", "const ssize_t count = 0;", True),
    ("python/src/a.cpp", "const py::ssize_t count = 0;", False),
    ("src/quasar/data/a.cpp", "return std::sqrt(2 * M_PI);", True),
    ("src/quasar/data/a.cpp", 'std::ifstream in("/proc/cpuinfo");', True),
    ("src/quasar/data/a.cpp", 'const char* const url = "https://a.b/unlink";', False),
]


class Portable(unittest.TestCase):
    def test_lines(self):
        for file, line, wrong in CASES:
            with self.subTest(file=file, line=line), tempfile.TemporaryDirectory() as folder:
                path = Path(folder, file)
                path.parent.mkdir(parents=True)
                path.write_text("\n" + line + "\n")
                found = list(violations(Path(folder)))
                self.assertEqual(len(found), int(wrong), found)
                self.assertTrue(all(f"{file}:2: " in one for one in found), found)


if __name__ == "__main__":
    unittest.main()
