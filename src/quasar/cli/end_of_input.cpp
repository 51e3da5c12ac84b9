#include "quasar/cli/end_of_input.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "quasar/base/system/signals.hpp"
#include "quasar/base/system/socket.hpp"

namespace quasar::cli {

void EndOfInput::define(CLI::App& app) {
  app.add_flag("--with-input", is_watched_, "end when standard input does, for programs that start it");
}

void EndOfInput::watch() {
  if (!is_watched_) return;
  watcher_ = std::jthread([](const std::stop_token& over) {
    constexpr int standard_input = 0, slice = 200;  // milliseconds
    while (!over.stop_requested() && std::cin) {
      if (is_ready(standard_input, true, slice)) std::cin.get();  // what stands in it is of no use
    }
    if (!over.stop_requested()) request_stop();
  });
}

}  // namespace quasar::cli
