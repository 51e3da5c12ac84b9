// A shared library with the C interface of evaluator_plugin.h; it is loaded once.
#include <mutex>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/system/shared_library.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/eval/evaluator_plugin.h"

namespace quasar::eval::evaluators {
namespace {

// A loaded library; it stays for as long as anybody uses it.
class Plugin {
 public:
  explicit Plugin(const std::filesystem::path& file) : file_(file) {
    std::string why;
    handle_ = open_library(file.string(), why);
    if (handle_ == nullptr) fail(why);
    try {
      const auto version = function<decltype(quasar_evaluator_version)>("quasar_evaluator_version")();
      if (version != QUASAR_EVALUATOR_VERSION)
        fail("it is for version " + std::to_string(version) + " of the interface, but this program has version " +
             std::to_string(QUASAR_EVALUATOR_VERSION));
      evaluate_ = function<decltype(quasar_evaluate)>("quasar_evaluate");
    } catch (...) {
      close_library(handle_);
      throw;
    }
  }
  ~Plugin() { close_library(handle_); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  int evaluate(const quasar_evaluation& evaluation) const { return evaluate_(&evaluation); }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("search_evaluator: the library '" + file_.string() + "' cannot be used: " + why);
  }
  template <class F>
  F* function(const std::string& name) const {
    void* const found = find_in_library(handle_, name);
    if (found == nullptr) fail("it has no function " + name);
    return reinterpret_cast<F*>(found);
  }

  std::filesystem::path file_;
  void* handle_ = nullptr;
  decltype(quasar_evaluate)* evaluate_ = nullptr;
};

// What the library reports.
struct Caller {
  Values values;
  std::string message;
};

class Library final : public CustomEvaluator {
 public:
  explicit Library(const Options& options)
      : CustomEvaluator(own_metrics(options)), options_(options.json("options").dump()), serial_(options.flag("serial")) {
    if (!options.json("library").is_string())
      throw Error("search_evaluator: library is " + options.json("library").dump() +
                  ", but must be the path of a shared library");
    path_ = options.json("library").get<std::string>();
  }

  Values score(const Subject& subject) const override {
    const Plugin& plugin = loaded(subject);
    const std::string model = subject.file().string(), reference = subject.surroundings().reference_file.string();
    Caller caller;
    const quasar_evaluation evaluation{
        .version = QUASAR_EVALUATOR_VERSION,
        .model_path = model.c_str(),
        .reference_path = reference.c_str(),
        .options = options_.c_str(),
        .caller = &caller,
        .report = [](void* to, const char* metric, double value) { static_cast<Caller*>(to)->values[metric] = value; },
        .fail = [](void* to, const char* message) { static_cast<Caller*>(to)->message = message; },
        .cancelled = [](void*) { return current_cancellation().stop_requested() ? 1 : 0; }};
    std::unique_lock lock(one_at_a_time_, std::defer_lock);
    if (serial_) lock.lock();
    const int code = plugin.evaluate(evaluation);
    throw_if_cancelled();
    if (code != 0 || !caller.message.empty())
      throw EvaluatorFailed("the evaluator failed: " +
                            (caller.message.empty() ? "quasar_evaluate() gave " + std::to_string(code) : caller.message));
    check_values(*this, caller.values);
    return caller.values;
  }

 private:
  const Plugin& loaded(const Subject& subject) const {
    const std::lock_guard lock(loading_);
    if (!plugin_) plugin_ = std::make_unique<Plugin>(std::filesystem::absolute(subject.surroundings().base / path_));
    return *plugin_;
  }

  std::filesystem::path path_;
  std::string options_;
  bool serial_;
  mutable std::mutex loading_, one_at_a_time_;
  mutable std::unique_ptr<Plugin> plugin_;
};

}  // namespace

Entry<CustomEvaluator> library() {
  return {.help = "A shared library with the C interface of quasar/eval/evaluator_plugin.h.",
          .make = make_as<Library, CustomEvaluator>,
          .options = with_own_metrics({{.name = "library", .fallback = nullptr, .help = "path of the shared library (.so)"},
                                       {.name = "options", .fallback = nullptr, .help = "anything; the library gets it as JSON"},
                                       {.name = "serial", .fallback = false, .help = "one model at a time, also with n_jobs"}})};
}

}  // namespace quasar::eval::evaluators
