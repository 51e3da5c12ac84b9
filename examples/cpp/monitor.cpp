#include <iostream>

#include "quasar/api/search.hpp"

int main() {
  quasar::Json job = quasar::api::read_job("search.yaml");
  job["output_dir"] = "watched";
  job["n_jobs"] = 1;
  std::stop_source enough;
  const quasar::api::Monitor monitor{.log =
                                         [](quasar::Level level, const std::string& text) {
                                           if (level == quasar::Level::error) std::cerr << text << "\n";
                                         },
                                     .listener =
                                         [&](const quasar::search::Event& event) {
                                           if (event.kind != quasar::search::Event::Kind::finished) return;
                                           std::cout << "trial " << event.trial.number << " has ended, "
                                                     << event.counts.finished() << " so far\n";
                                           if (event.counts.finished() == 3) enough.request_stop();
                                         },
                                     .stop = enough.get_token()};
  const quasar::api::Found found = quasar::api::search(job, ".", monitor);
  std::cout << found.result["status"].get<std::string>() << "\n";
}
