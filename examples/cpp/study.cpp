#include <iostream>

#include "quasar/api/search.hpp"
#include "quasar/search/state_name.hpp"
#include "quasar/search/storage.hpp"

int main() {
  quasar::Json job = quasar::api::read_job("search.yaml");
  job["output_dir"] = "kept";
  job["n_jobs"] = 1;
  job["search_stop_condition"] = {{"n_trials", 4}};
  const std::string place = quasar::api::search(job).storage;

  const auto storage = quasar::search::open_to_read(place);
  for (const auto& study : storage->studies()) {
    for (const auto& trial : storage->trials(study.id)) {
      std::cout << trial.number << " " << name_of(trial.state) << " with " << trial.point.values().size() << " parameters\n";
    }
  }
}
