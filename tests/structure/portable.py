"""What one operating system has and another lacks stands in src/quasar/base: elsewhere nobody includes a system's own headers, asks which
system or processor it is compiled for, calls what C++ does not have, or reads /proc.
usage: portable.py REPOSITORY      (src/quasar and python/src are looked through)
"""
import re
import sys
from pathlib import Path

# Not C++'s own: POSIX's, Linux's and Windows' headers, processors' instructions, and signals beyond what <csignal> means everywhere.
HEADERS = re.compile(r"^\s*#\s*include\s*<((?:sys|arpa|linux|net|netinet|asm|mach|mach-o)/[^>]+|(?:aio|cpuid|dirent|dlfcn|elf|execinfo|fcntl|ftw|glob|grp|"
                     r"immintrin|intrin|io|link|malloc|netdb|poll|process|pthread|pwd|sched|semaphore|signal|spawn|termios|ucontext|unistd|utime|"
                     r"wait|winsock2|windows|x86intrin|arm_neon)\.h|csignal)>", re.MULTILINE)
MACROS = re.compile(r"^\s*#.*\b(__linux__|__unix__|__APPLE__|__GLIBC__|__MINGW32__|_MSC_VER|_WIN32|_WIN64|__x86_64__|__i386__|__aarch64__|__ELF__|_POSIX\w*)\b",
                    re.MULTILINE)
CALLS = re.compile(r"(?<![\w.>:])(?:::)?(access|chdir|environ|execvp?|fork|fsync|getpid|getppid|geteuid|getuid|gethostname|gmtime_r|isatty|kill|"
                   r"localtime_r|lstat|mkdtemp|mkostemp|mkstemp|mmap|pipe2?|popen|posix_\w+|pread|putenv|pwrite|readlink|setenv|sigaction|strcasecmp|"
                   r"strerror_r|strsignal|sysconf|tmpnam_r|unlink|unsetenv|usleep|vfork|waitpid)\s*\(")
TYPES = re.compile(r"(?<![\w:])(ssize_t|pid_t|uid_t|off_t|dev_t|ino_t|mode_t)\b")
PLACES = re.compile(r'"(/proc/[^"]*)"')
CONSTANTS = re.compile(r"\b(M_(?:E|PI|LN|LOG|SQRT|1_PI|2_)\w*)\b")
RULES = [(CONSTANTS, "uses {}"), (HEADERS, "includes <{}>"), (MACROS, "asks for {}"), (CALLS, "calls {}()"), (TYPES, "uses the type {}"), (PLACES, "reads {}")]


def without_comments(text):
    return re.sub(r"(?<![:\"'])//[^\n]*", "", text)


def violations(repository):
    for folder in ("src/quasar", "python/src"):
        for path in sorted((repository / folder).rglob("*.[ch]*")):
            name = path.relative_to(repository).as_posix()
            if name.startswith("src/quasar/base/") or path.suffix not in (".cpp", ".hpp", ".h"):
                continue
            text = without_comments(path.read_text())
            for rule, words in RULES:
                for match in rule.finditer(text):
                    number = text.count("\n", 0, match.start(1)) + 1
                    yield f"{name}:{number}: {words.format(match[1])}, which not every system has: src/quasar/base is the place for it"


if __name__ == "__main__":
    found = list(violations(Path(sys.argv[1])))
    print("\n".join(found) or "nothing outside src/quasar/base depends on the system")
    sys.exit(bool(found))
