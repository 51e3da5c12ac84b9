#include "quasar/cli/console.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <sstream>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/system/terminal.hpp"
#include "quasar/cli/progress.hpp"
#include "quasar/report/trial_words.hpp"
#include "quasar/report/wrap.hpp"

namespace quasar::cli {
namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

struct Console::Impl {
  Impl(bool silent, const tune::Aim& aim, const std::string& who, bool is_worker)
      : quiet(silent), name(who.empty() ? "quasar" : who), said_by(who.empty() ? "" : who + ": "), words(aim, who, is_worker) {}

  bool quiet;
  std::string name, said_by;
  bool terminal = errors_are_terminal();
  bool progress_open = false;
  bool colour = wants_colour();
  report::TrialWords words;
  ProgressLine progress{words.objective()};
  std::mutex guard;
  std::shared_ptr<spdlog::logger> file = std::make_shared<spdlog::logger>(name, std::make_shared<spdlog::sinks::null_sink_mt>());

  void close_progress() {
    if (progress_open) std::fputs("\n", stderr);
    progress_open = false;
  }

  void message(Level level, const std::string& said) {
    const std::string text = printable_message(said);
    const std::lock_guard lock(guard);
    file->log(level_of(level), "{}", text);
    if (level == Level::debug || (quiet && level == Level::info)) return;
    if (progress_open) std::fputs("\r\033[K", stderr);  // the message stands where the line was, and the line below it
    std::string prefix = level == Level::warning ? "warning: " : level == Level::error ? "error: " : "";
    const std::string line = said_by + text;
    const std::string shown = terminal ? report::wrapped(prefix + line, terminal_columns()).substr(prefix.size()) : line;
    if (colour && !prefix.empty()) prefix = (level == Level::error ? "\033[31m" : "\033[33m") + prefix + "\033[0m";
    std::fprintf(stderr, "%s%s\n", prefix.c_str(), shown.c_str());
    if (progress_open) show_progress();
  }

  void show_progress() {
    std::fprintf(stderr, "\r\033[K%s", progress.draw(terminal_columns(), colour).c_str());
    std::fflush(stderr);
    progress_open = true;
  }

  void event(const search::Event& event) {
    const std::lock_guard lock(guard);
    if (event.kind == search::Event::Kind::started) {
      file->info("{}", words.line_of(event));
      return;
    }
    const std::string outcome = words.of(event.trial);
    file->info("{}", words.line_of(event));
    progress.hear(event);
    if (quiet) return;
    if (!terminal) {
      std::fprintf(stderr, "%strial %lld: %s\n", said_by.c_str(), static_cast<long long>(event.trial.number), outcome.c_str());
      return;
    }
    show_progress();
  }
};

Console::Console(bool quiet, const tune::Aim& aim, const std::string& name, bool is_worker)
    : impl_(std::make_unique<Impl>(quiet, aim, name, is_worker)) {}

Console::~Console() {
  impl_->close_progress();
}

void Console::log_to(const std::filesystem::path& file) {
  if (std::filesystem::is_symlink(file))
    throw Error("cannot write " + file.string() + ": it is a symbolic link, which logs do not follow; remove it");
  if (is_pipe(file)) throw Error("cannot write " + file.string() + ": it is a pipe, not a file");
  try {
    impl_->file =
        std::make_shared<spdlog::logger>(impl_->name, std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string()));
  } catch (const spdlog::spdlog_ex& error) {
    throw Error("cannot write " + file.string() + ": " + error.what());
  }
  impl_->file->set_level(spdlog::level::debug);
  impl_->file->flush_on(spdlog::level::debug);
}

Log Console::log() {
  return [this](Level level, const std::string& text) { impl_->message(level, text); };
}

void Console::note(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) impl_->file->info("{}", line);
}

search::Listener Console::listener() {
  return [this](const search::Event& event) { impl_->event(event); };
}

void Console::follow(const tune::Aim& aim) {
  const std::lock_guard lock(impl_->guard);
  impl_->words.follow(aim);
  impl_->progress = ProgressLine(impl_->words.objective());
}

void Console::compare_with(const tune::Measured& baseline) {
  const std::lock_guard lock(impl_->guard);
  impl_->words.compare_with(baseline);
}

void Console::close_progress() {
  impl_->close_progress();
}

}  // namespace quasar::cli
