"""The check of tracked files itself: what it must find, what it must leave alone."""
import unittest

from tracked import findings

BAD = ["cd /" + "home/me/code", "x = '/" + "tmp/result'", "https://registry." + "npmjs.org/x", "// TO" + "DO: later", "URIs: http://deb." + "debian.org/"]
GOOD = ["cat build/tmp/x", "output_dir/tmp", "todo list", "#include <a/home/b>", "${XDG_CACHE_HOME:-$HOME/.cache}", "/usr/share/keyrings/debian-archive-keyring.gpg"]


class Tracked(unittest.TestCase):
    def test_bad_lines_are_found(self):
        for line in BAD:
            with self.subTest(line=line):
                self.assertEqual(len(list(findings("file", line))), 1)

    def test_good_lines_pass(self):
        for line in GOOD:
            with self.subTest(line=line):
                self.assertEqual(list(findings("file", line)), [])


if __name__ == "__main__":
    unittest.main()
