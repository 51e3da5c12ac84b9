// The arguments that say what a search is about, for all commands that take part in one.
#pragma once

#include <functional>
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
  bool has_output_dir() const { return !output_dir_.empty(); }

 private:
  std::string config_, model_, calibration_, evaluation_, holdout_, preset_, output_dir_;
  bool as_is_ = false;
  std::vector<std::string> settings_;
};

}  // namespace quasar::cli
