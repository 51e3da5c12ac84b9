// The arguments that say what a search is about, for all commands that take part in one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/job/job.hpp"

namespace CLI {
class App;
}

namespace quasar::cli {

class JobArguments {
 public:
  // CONFIG, --model, --calib, --eval, --holdout, --preset, --set, --output-dir.
  void define(CLI::App& app);

  // The job that they say; `amend` puts in what else the command line says, before --set is applied. Throws Error.
  tune::Job read(const std::function<void(Json&)>& amend) const;

  const std::string& configuration() const { return config_; }  // its file; "": none
  // Whether a file or a preset says what the search is; and whether nothing at all is said.
  bool name_a_search() const { return !config_.empty() || !preset_.empty(); }
  bool are_missing() const { return !name_a_search() && settings_.empty() && given_files().empty(); }

  // The words of a configuration that comes from elsewhere, in place of a file's; relative paths in them start from `folder`.
  void use(Json words, std::filesystem::path folder);
  // Keys of model and samples for which the command line has files of its own.
  std::set<std::string> given_files() const;
  bool has_output_dir() const { return !output_dir_.empty(); }

 private:
  void add_data(Json& words) const;

  std::string config_, model_, calibration_, evaluation_, holdout_, preset_, output_dir_;
  bool as_is_ = false;
  std::optional<Json> words_;
  std::filesystem::path folder_;
  std::vector<std::string> settings_;
};

}  // namespace quasar::cli
