#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/base/system/terminal.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/standard_output.hpp"
#include "quasar/report/study_view.hpp"

namespace quasar::cli::commands {
namespace {

class Status final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("address", address_, "the database that holds the search's study: postgresql://…, a file, or an output folder")
        ->required();
    app.add_option("--study", study_, "which study (default: the one that runs)");
    app.add_flag("--watch", watch_, "again every two seconds, until the search has ended");
    app.add_flag("--json", json_, std::string(json_help) + "; with --watch one line each time");
    app.footer("Example: quasar status postgresql://me@server/quasar --watch");
  }

  int run() override {
    catch_signals();
    const CancelScope scope(stop_requested());
    address_ = report::study_address(address_);
    const auto storage = search::open_to_read(address_);
    if (storage == nullptr) throw Error("there is no study in " + without_password(address_));
    storage->tell_to(on_standard_error());
    for (;;) {
      const Json status = report::study_status(*storage, report::study_in(*storage, study_));
      show(status);
      const std::string state = status["state"];
      if (!watch_ || (state != "running" && state != "preparing")) return exit_done;
      for (int i = 0; i < 20; ++i) {
        throw_if_cancelled();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }

 private:
  void show(const Json& status) const {
    if (watch_ && !json_ && output_is_terminal()) std::cout << "\033[H\033[J";  // in the place of what stood there
    std::cout << (json_ ? status.dump(watch_ ? -1 : 2) + "\n" : report::status_table(status));
    if (watch_ && !json_ && !output_is_terminal()) std::cout << "\n";
    std::cout << std::flush;
  }

  std::string address_, study_;
  bool watch_ = false, json_ = false;
};

}  // namespace

Entry<Command> status() {
  return {"Shows what a search does now: workers, trials, rate, deaths.", make_as<Status, Command>};
}

}  // namespace quasar::cli::commands
