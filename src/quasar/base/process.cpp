#include "quasar/base/process.hpp"

#ifndef _WIN32  // whose form is system/process_windows.cpp
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/base/process_starter.hpp"

namespace quasar {
namespace {

// Two ends, which programs that are started do not get. false: it failed.
#ifdef __linux__
bool make_pipe(int (&ends)[2]) {
  return ::pipe2(ends, O_CLOEXEC) == 0;
}

bool make_sockets(int (&ends)[2]) {
  return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
}
#else
bool keep_from_programs(const int (&ends)[2]) {
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
}

bool make_pipe(int (&ends)[2]) {
  return ::pipe(ends) == 0 && keep_from_programs(ends);
}

bool make_sockets(int (&ends)[2]) {
  return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && keep_from_programs(ends);
}
#endif

// What the new process gets besides its arguments.
class Settings {
 public:
  void folder(const std::filesystem::path& path) { folder_ = path; }
  void file(int descriptor, const std::filesystem::path& path, int flags) { files_.push_back({descriptor, path, flags, -1}); }
  void copy(int from, int to) { files_.push_back({to, {}, 0, from}); }

  // -> an error number, 0: it runs.
  int spawn(int& pid, const std::vector<std::string>& arguments) {
    memory_ = capped_memory();
    std::vector<char*> pointers;
    for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    return run_by_starter([&] { return start(pid, pointers); });
  }

 private:
  struct File {
    int descriptor;
    std::filesystem::path path;
    int flags, from;
  };

  int start(int& pid, const std::vector<char*>& arguments) const {
    int failure[2];  // closed by exec; otherwise the reason comes out of it
    if (!make_pipe(failure)) return errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler runs in the child, which shares this memory for a moment
    const int parent = ::getpid();
#ifdef __linux__
    pid = ::vfork();
#else
    pid = ::fork();
#endif
    if (pid == 0) {
      become(arguments.data(), parent);
      const int why = errno;
      (void)!::write(failure[1], &why, sizeof(why));
      ::_exit(127);
    }
    int why = pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(failure[1]);
    const bool failed = pid > 0 && ::read(failure[0], &why, sizeof(why)) == sizeof(why);
    ::close(failure[0]);
    if (failed) ::waitpid(pid, nullptr, 0);
    return why;
  }

  // In the child: returns when it could not be done.
  void become(char* const* arguments, int parent) const {
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (::getppid() != parent) return;  // it ended before this was asked for
    ::setpgid(0, 0);
    if (!folder_.empty() && ::chdir(folder_.c_str()) != 0) return;
    if (memory_) bound_memory();
    for (const auto& file : files_) {
      const int from = file.from >= 0 ? file.from : ::open(file.path.c_str(), file.flags, 0600);
      if (from < 0 || ::dup2(from, file.descriptor) < 0) return;
      if (from == file.descriptor) ::fcntl(from, F_SETFD, 0);  // dup2 does nothing then, and exec would close it
      if (file.from < 0 && from != file.descriptor) ::close(from);
    }
    // The program's own handling of signals must not reach the child: the command line blocks them.
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(arguments[0], arguments);
  }

  // It may be lifted in the parent at this moment.
  void bound_memory() const {
    rlimit limit{};
    ::getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = std::min<rlim_t>(*memory_, limit.rlim_max);
    ::setrlimit(RLIMIT_DATA, &limit);
  }

  std::filesystem::path folder_;
  std::vector<File> files_;
  std::optional<size_t> memory_;  // that the program may take
};

// Ends a process when the caller's work is cancelled or `seconds` have passed, for as long as it lives.
class Guardian {
 public:
  Guardian(Process& process, double seconds)
      : limit_(current_cancellation(), seconds > 0 ? std::optional(Deadline::after(seconds)) : std::nullopt),
        killer_(limit_.token(), Killer{process}) {}

  // Whether the time was up; throws Cancelled when the work was cancelled.
  bool passed() const {
    throw_if_cancelled();
    return limit_.passed();
  }

 private:
  struct Killer {
    Process& process;
    void operator()() { process.kill(); }
  };
  Deadline limit_;
  std::stop_callback<Killer> killer_;
};

}  // namespace

Process::Process(const ProcessOptions& options) {
  if (options.arguments.empty() || options.arguments[0].empty()) throw Error("no program is named that could be started");
  int pair[2] = {-1, -1};
  Settings settings;
  settings.folder(options.folder);
  if (options.output.empty()) {
    if (!make_sockets(pair)) throw Error(std::string("cannot talk to a program: ") + std::strerror(errno), blame_of(errno));
    settings.copy(pair[1], STDIN_FILENO);
    settings.copy(pair[1], STDOUT_FILENO);
  } else {
    settings.file(STDIN_FILENO, "/dev/null", O_RDONLY);
    settings.file(STDOUT_FILENO, options.output, O_WRONLY | O_CREAT | O_TRUNC);
  }
  if (!options.errors.empty()) settings.file(STDERR_FILENO, options.errors, O_WRONLY | O_CREAT | O_APPEND);
  const int code = settings.spawn(pid_, options.arguments);
  if (pair[1] >= 0) ::close(pair[1]);
  socket_ = pair[0];
  if (code == 0) return;
  if (socket_ >= 0) ::close(socket_);
  throw Error("cannot start '" + options.arguments[0] + "'" +
                  (options.folder.empty() ? "" : " in '" + options.folder.string() + "'") + ": " + std::strerror(code),
              blame_of(code));
}

Process::~Process() {
  kill();
  reap();
  if (socket_ >= 0) ::close(socket_);
}

void Process::kill() {
  const std::lock_guard lock(guard_);
  if (!reaped_) ::kill(-pid_, SIGKILL);
}

// Its number stays taken until it is reaped, so that kill() can never hit another process.
Exit Process::reap() {
  siginfo_t info{};
  {
    const std::lock_guard lock(guard_);
    if (reaped_) return exit_;
  }
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::lock_guard lock(guard_);
  if (reaped_) return exit_;
  ::kill(-pid_, SIGKILL);  // what it left running
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  if (WIFSIGNALED(status)) {
    exit_ = {.code = -1, .signal = WTERMSIG(status)};
  } else {
    exit_ = {.code = WEXITSTATUS(status)};
  }
  return exit_;
}

Exit Process::wait(double seconds) {
  const Guardian guardian(*this, seconds);
  Exit exit = reap();
  exit.timed_out = (guardian.passed() || overdue_) && exit.signal == SIGKILL;
  return exit;
}

bool Process::ask(std::string_view line, std::string& reply, double seconds) {
  const Guardian guardian(*this, seconds);
  send(std::string(line) + "\n");
  const bool answered = receive(reply);
  overdue_ = overdue_ || guardian.passed();
  return !guardian.passed() && answered;
}

void Process::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;  // it has ended, as the missing reply will tell
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

bool Process::receive(std::string& line) {
  for (;;) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return true;
    }
    char bytes[4096];
    const ssize_t count = ::recv(socket_, bytes, sizeof(bytes), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    received_.append(bytes, static_cast<size_t>(count));
  }
}

std::string to_string(const Exit& exit) {
  if (exit.timed_out) return "its time was up";
  if (exit.signal == SIGKILL) return "signal 9 (Killed), as a system does that runs out of memory";
  if (exit.signal != 0) return "signal " + std::to_string(exit.signal) + " (" + strsignal(exit.signal) + ")";
  return "exit code " + std::to_string(exit.code);
}

std::filesystem::path this_program() {
#ifdef __APPLE__
  std::array<char, 4096> name{};
  uint32_t size = name.size();
  if (::_NSGetExecutablePath(name.data(), &size) != 0) throw Error("the path of this program is too long");
  return std::filesystem::canonical(name.data());
#else
  return std::filesystem::read_symlink("/proc/self/exe");
#endif
}

uint64_t process_number() {
  return static_cast<uint64_t>(::getpid());
}

void become(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  throw Error("cannot start '" + words.front() + "': " + std::strerror(errno));
}

std::string process_name() {
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

}  // namespace quasar
#endif
