#!/usr/bin/env python3
"""A search in the terminal as an animated SVG, recorded from a run: what the terminal shows, when it shows it.

usage: scripts/cast.py QUASAR docs/pictures/search.svg
Viewers that do not animate show the last picture.
"""
import html
import os
import pathlib
import pty
import re
import struct
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ["quasar", "search", "examples/digits/demo.yaml", "--output-dir", "demo"]
COLUMNS, WIDTH, HEIGHT, HOLD = 112, 7.7, 18, 10.0  # HOLD: seconds at the end before it begins again
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "1": "#ffffff", "2": "#8b949e"}


def record(quasar):
    """-> [(seconds, text)] of a run in a folder of its own, whose name is left out of what is shown."""
    import fcntl
    import termios
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(REPOSITORY / "examples", f"{folder}/examples")
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(folder)
            os.environ["TERM"] = "xterm-256color"
            os.execv(quasar, COMMAND)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        seen, start = [], time.monotonic()
        while True:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:  # the end of a pseudo-terminal
                break
            if not data:
                break
            seen.append((time.monotonic() - start, data))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, f"quasar ended with {status}"
    # A chunk may end within a character.
    out, rest = [], b""
    for when, data in seen:
        data, rest = rest + data, b""
        while data:
            try:
                text = data.decode()
                break
            except UnicodeDecodeError:
                data, rest = data[:-1], data[-1:] + rest
        else:
            text = ""
        out.append((when, text.replace(f"{os.path.realpath(folder)}/", "")))
    return out


def lines(seen):
    """-> [(row, line, from, to)], to None: until the end. Knows what Quasar's progress line needs: line feeds, returns, erasing, colours."""
    out, current, row, since, shown = [], "", 0, 0.0, ""

    def show(when, text):
        nonlocal since, shown
        if text != shown:
            if shown:
                out.append((row, shown, since, when))
            shown, since = text, when

    for when, text in seen:
        for piece in re.split(r"(\r\n|\n|\r|\x1b\[K)", text):
            if piece in ("\r\n", "\n"):
                show(when, current)
                if shown:
                    out.append((row, shown, since, None))
                current, shown, row = "", "", row + 1
            elif piece in ("\r", "\x1b[K"):
                current = ""
            else:
                current += piece
        show(when, current)
    if shown:
        out.append((row, shown, since, None))
    return out


def spans(line):
    """Text with colours as SVG's tspans."""
    colour, out = None, []
    for piece in re.split(r"(\x1b\[[\d;]*m)", line):
        if piece.startswith("\x1b["):
            colour = next((COLOURS[code] for code in re.findall(r"\d+", piece) if code in COLOURS), None)
        elif piece:
            text = html.escape(piece).replace(" ", "\u00a0")  # not every viewer keeps runs of spaces
            out.append(f'<tspan fill="{colour}">{text}</tspan>' if colour else text)
    return "".join(out)


def svg(found):
    typed = 1.0  # seconds that the command stands alone
    shown = [(0, "\x1b[32m$\x1b[0m " + " ".join(COMMAND), 0.0, None), *((row + 1, text, start + typed, None if end is None else end + typed) for row, text, start, end in found)]
    end = max(start for _, _, start, _ in shown) + HOLD
    height = (max(row for row, *_ in shown) + 1) * HEIGHT + 24
    width = COLUMNS * WIDTH + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="12.8">',
           f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0d1117"><animate id="loop" attributeName="rx" from="8" to="8" dur="{end:.1f}s" begin="0s;loop.end"/></rect>',
           '<g fill="#c9d1d9">']
    for row, text, start, stop in shown:
        y = 12 + (row + 0.75) * HEIGHT
        if stop is None:  # stands in the last picture; hidden before
            turn = f'<set attributeName="visibility" to="hidden" begin="loop.begin" end="loop.begin+{start:.2f}s"/>' if start else ""
            out.append(f'<text x="12" y="{y:.1f}">{spans(text)}{turn}</text>')
        elif stop - start > 0.02:
            out.append(f'<text x="12" y="{y:.1f}" visibility="hidden">{spans(text)}<set attributeName="visibility" to="visible" begin="loop.begin+{start:.2f}s" end="loop.begin+{stop:.2f}s"/></text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def main(quasar, file):
    pathlib.Path(file).write_text(svg(lines(record(str(pathlib.Path(quasar).resolve())))))


if __name__ == "__main__":
    main(*sys.argv[1:3])
