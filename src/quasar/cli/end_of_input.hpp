// For programs that start this one and hold the other end of its standard input: it ends when they do, however they end.
#pragma once

#include <thread>

namespace CLI {
class App;
}

namespace quasar::cli {

class EndOfInput {
 public:
  void define(CLI::App& app);  // the option --with-input

  // Where the option was given: from now on the end of standard input stops the program, as a first Ctrl-C does. After
  // catch_signals(), as this thread must not take them.
  void watch();

 private:
  bool is_watched_ = false;
  std::jthread watcher_;
};

}  // namespace quasar::cli
