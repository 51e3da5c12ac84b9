// Programs that Quasar starts: each in a process group of its own, so that it can be ended with everything that it started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quasar {

struct ProcessOptions {
  std::vector<std::string> arguments;  // the program first; looked up in PATH unless it holds a slash
  std::filesystem::path folder = {};   // that it runs in; empty: this program's
  std::filesystem::path output = {};   // file that takes its standard output; empty: it talks to us instead
  std::filesystem::path errors = {};   // file that takes its standard error; empty: ours
};

// How a program ended.
struct Exit {
  int code = 0;            // its exit code; -1 when a signal ended it
  int signal = 0;          // that signal; 0: none
  bool timed_out = false;  // we ended it, because its time, or that of a question, was up
  bool good() const { return code == 0 && signal == 0 && !timed_out; }
};

class Process {
 public:
  // Starts it. Throws Error that names the program when that is not possible: on Windows it never is.
  explicit Process(const ProcessOptions& options);
  ~Process();  // ends it with everything that it started
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Waits until it ends; then whatever it left running in its group is ended too. After `seconds` (0: never) it is ended by
  // force, and likewise when this thread's work is cancelled (base/cancellation.hpp), which throws Cancelled.
  Exit wait(double seconds = 0);

  // One line to its standard input, and one back from its standard output, without the line's end. Only for a process without
  // `output`. Throws Cancelled as wait(). false: it has ended, or its time was up and it was ended by force.
  bool ask(std::string_view line, std::string& reply, double seconds = 0);

  // Ends it at once, with everything that it started; from any thread.
  void kill();

 private:
  void send(std::string_view text);
  bool receive(std::string& line);
  Exit reap();

  int pid_ = -1;
  int socket_ = -1;
  std::string received_;  // and not yet handed on
  bool overdue_ = false;  // a question took too long
  std::mutex guard_;      // of what follows
  bool reaped_ = false;
  Exit exit_;
};

// "exit code 3", "signal 11 (Segmentation fault)"
std::string to_string(const Exit& exit);

// The file of the program that runs.
std::filesystem::path this_program();

// This process becomes another program: the same number, input and output. The program is looked up in PATH unless it holds a
// slash. Throws Error that names it when it cannot be started: on Windows it never is.
[[noreturn]] void become(const std::vector<std::string>& arguments);

uint64_t process_number();  // of this process

// This process, for people elsewhere: "process 4711 on host".
std::string process_name();

}  // namespace quasar
