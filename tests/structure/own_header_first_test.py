"""own_header_first finds a header that comes second, and nothing else."""
import tempfile
from pathlib import Path

from own_header_first import late

with tempfile.TemporaryDirectory() as name:
    sources = Path(name)
    for path, text in {"a.hpp": "", "a.cpp": '// Why\n#include "a.hpp"\n#include <map>\n', "b.hpp": "", "b.cpp": '#include <map>\n#include "b.hpp"\n',
                       "c.hpp": "", "d.cpp": "#include <map>\n"}.items():
        (sources / path).write_text(text)
    assert list(late(sources)) == ["b.cpp: b.hpp is not what it includes first"], list(late(sources))
