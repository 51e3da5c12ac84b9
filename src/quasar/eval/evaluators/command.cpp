// A program: it is started once per model, and writes the score.
//
// A list is started as it stands, a text by the shell. {model} and {reference} stand for the files of the model that is to be
// scored and of the float model. Its folder is that of the configuration.
#include "quasar/base/file.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/base/process.hpp"
#include "quasar/eval/custom.hpp"

namespace quasar::eval::evaluators {
namespace {

const char* const model_mark = "{model}";

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
  return text;
}

// For a POSIX shell.
std::string quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

class Command final : public CustomEvaluator {
 public:
  explicit Command(const Options& options)
      : CustomEvaluator(own_metrics(options)), words_(options.json("command")), timeout_(options.real("timeout")) {
    const Json all = words_.is_array() ? words_ : Json::array({words_});
    if (!all.empty() && all.front() == "")
      throw Error("search_evaluator: command " + words_.dump() + " names no program: its first text is empty");
    bool marked = false;
    for (const Json& word : all) {
      if (!word.is_string())
        throw Error("search_evaluator: command is " + words_.dump() + ", but must be a list of texts or a text for the shell");
      marked = marked || word.get<std::string>().find(model_mark) != std::string::npos;
    }
    if (!marked)
      throw Error("search_evaluator: command " + words_.dump() + " does not hold {model}, so it cannot know what to score");
  }

  Values score(const Subject& subject) const override {
    const TemporaryFolder folder;
    const auto output = folder.path() / "stdout", errors = folder.path() / "stderr";
    Process process({.arguments = arguments(subject), .folder = subject.surroundings().base, .output = output, .errors = errors});
    const Exit exit = process.wait(timeout_);
    if (!exit.good()) {
      const auto cap = capped_memory();
      const std::string why = exit.timed_out
                                  ? "took longer than its timeout of " + Json(timeout_).dump() + " s"
                                  : "ended with " + to_string(exit) +
                                        (cap ? " (it may take " + std::to_string(*cap) + " bytes: trial_memory_limit)" : "");
      throw EvaluatorFailed("the evaluator " + why, "stderr", tail_of(errors));
    }
    try {
      Values values = parse_values(tail_of(output, size_t{1} << 20), *this);
      check_values(*this, values);
      return values;
    } catch (const EvaluatorFailed& failed) {
      throw EvaluatorFailed(failed.what(), "stderr", tail_of(errors));
    }
  }

 private:
  std::vector<std::string> arguments(const Subject& subject) const {
    const std::string model = subject.file().string(), reference = subject.surroundings().reference_file.string();
    if (words_.is_string()) {
      const std::string line = replaced(words_.get<std::string>(), model_mark, quoted(model));
      return {"/bin/sh", "-c", replaced(line, "{reference}", quoted(reference))};
    }
    std::vector<std::string> out;
    for (const Json& word : words_)
      out.push_back(replaced(replaced(word.get<std::string>(), model_mark, model), "{reference}", reference));
    return out;
  }

  Json words_;
  double timeout_;
};

}  // namespace

Entry<CustomEvaluator> command() {
  return {.help = "A program that writes a score, or a JSON object of metrics, on its last line.",
          .make = make_as<Command, CustomEvaluator>,
          .options = with_own_metrics(
              {{.name = "command",
                .fallback = nullptr,
                .help = "program and arguments as a list (no shell), or a text for the shell; {model} and {reference} are files"},
               {.name = "timeout", .fallback = 0.0, .help = "seconds; after that it fails (0: none)", .low = 0}})};
}

}  // namespace quasar::eval::evaluators
