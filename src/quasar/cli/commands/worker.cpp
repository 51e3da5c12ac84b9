#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <set>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/digits.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/end_of_input.hpp"
#include "quasar/cli/job_arguments.hpp"
#include "quasar/cli/worker_run.hpp"
#include "quasar/report/results.hpp"
#include "quasar/search/misspelt.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/worker/search_offer.hpp"

namespace quasar::cli::commands {
namespace {

constexpr const char* address_form = "postgresql://user@host:port/database";

double seconds_of(const char* option, double given) {
  if (!(given >= 0 && given < 1e9))
    throw Error(std::string(option) + " is " + in_digits(given, 3) + ", but must be a number of seconds from 0 to 1e9");
  return given;
}

class Worker final : public Command {
 public:
  void define(CLI::App& app) override {
    arguments_.define(app);
    app.get_option("config")->description(
        "the search's configuration, or its database alone, postgresql://…: the configuration comes from there then");
    app.add_option("--storage", storage_, "postgresql://user@host:port/database, as the search has it");
    app.add_option("--study", study_, "name of the search's study (default AutoSearch; of an address alone: the one that runs)");
    app.add_option("--wait", patience_, "seconds to wait for the search to begin (default 600)");
    app.add_flag("--allow-code", allow_code_,
                 "run the evaluator and the operators' library that the study names, where the database alone is given");
    app.add_option("--drain", drain_, "on SIGTERM finish what runs for so many seconds, and end with 0");
    app.add_option("--until-idle", until_idle_, "end with 0 when there has been nothing to do for so many seconds");
    app.add_flag("--quiet", quiet_, "only warnings and the result");
    app.add_flag("--json", json_, json_help);
    end_of_input_.define(app);
    app.get_option("--output-dir")
        ->description("where this worker's log and the models that it keeps go (default: it writes nothing)");
    app.footer("Example: quasar worker postgresql://me@server/quasar");
  }

  bool results_are_files() const override { return true; }

  int run() override {
    catch_signals();
    end_of_input_.watch();
    WorkerRunOptions how{
        .patience = seconds_of("--wait", patience_), .quiet = quiet_, .json = json_, .keeps_files = arguments_.has_output_dir()};
    if (drain_) how.drain = seconds_of("--drain", *drain_);
    if (until_idle_) how.until_idle = seconds_of("--until-idle", *until_idle_);
    if (how.until_idle) how.patience = *how.until_idle;
    address_ = address_alone();
    if (!address_.empty()) return work_for_address(how);
    if (allow_code_) throw Error("--allow-code is for a worker that has an address alone; a configuration's evaluator is run");
    tune::Job job = arguments_.read([&](Json& words) {
      if (!storage_.empty()) words["study_storage_db"] = storage_;
      if (!study_.empty()) words["study_name"] = study_;
    });
    if (how.keeps_files) report::check_worker_results(job, arguments_.configuration());
    return run_worker(std::move(job), how).code;
  }

 private:
  // "": a configuration says what the search is.
  std::string address_alone() const {
    const std::string& given = arguments_.configuration();
    if (search::is_shared_storage(given)) {
      if (!storage_.empty()) throw Error("the address is given twice, alone and by --storage");
      return given;
    }
    if (!given.empty()) refuse_other_databases("", given);
    if (!storage_.empty() && !search::is_shared_storage(storage_)) refuse_other_databases("--storage is ", storage_);
    if (arguments_.are_missing() && storage_.empty())
      throw Error(std::string("give the search's address: quasar worker ") + address_form +
                  ", as `quasar serve` prints it and study_storage_db of the search names it");
    return arguments_.name_a_search() ? "" : storage_;
  }

  // What is no configuration: an address of something else, or the file in which one process alone has its study.
  static void refuse_other_databases(const std::string& option, const std::string& given) {
    search::refuse_misspelt("the search's address", given);
    static const std::set<std::string> databases{".db", ".sqlite", ".sqlite3", ".db3"};
    const bool is_database = given.find("://") != std::string::npos || given == "memory" ||
                             databases.contains(std::filesystem::path(given).extension().string());
    if (!is_database && option.empty()) return;
    throw Error(option + "'" + without_password(given) + "'" + (option.empty() ? " is" : ", but that is") +
                " no database that several processes share: a worker needs " + address_form);
  }

  int work_for_address(const WorkerRunOptions& how) {
    const CancelScope scope(stop_requested());
    const Log log = [this](Level level, const std::string& text) {
      if (level == Level::warning || (level == Level::info && !quiet_))
        std::cerr << process_name() << ": " << printable_message(text) << "\n";
    };
    try {
      return go_from_search_to_search(how, log);
    } catch (const Cancelled&) {
      if (!how.drain) throw;
      return report_nothing(worked_ ? "it was asked to end (--drain)" : "it was asked to end, and ran nothing (--drain)", how);
    }
  }

  int go_from_search_to_search(const WorkerRunOptions& how, const Log& log) {
    std::set<std::string> passed_over;
    for (;;) {
      const TemporaryFolder fetched;
      auto offer = offer_in(passed_over, how, log);
      if (!offer && !worked_ && !failure_.empty()) throw Error(failure_);
      if (!offer) return report_nothing("there was nothing to do", how);
      try {
        const WorkerEnd end = work_for(with_files(*offer, fetched.path(), log), how);
        worked_ = true;
        // Where there was something to do, there may be again: the next search.
        if (!how.until_idle || end.idle || end.interrupted || stop_requested().stop_requested()) return end.code;
      } catch (const Error& error) {
        if (!how.until_idle || error.blame() != Blame::user) throw;
        failure_ = error.what();
        log(Level::warning, failure_ + "; this worker waits for other searches");
        passed_over.insert(offer->run);
      }
    }
  }

  WorkerEnd work_for(const tune::SearchOffer& offer, WorkerRunOptions how) {
    arguments_.use(offer.words, offer.folder);
    tune::Job job = arguments_.read([](Json&) {});
    tune::expect_offered_files(offer, job);
    if (how.keeps_files) report::check_worker_results(job, {});
    how.run = offer.run;
    return run_worker(std::move(job), how);
  }

  std::unique_ptr<search::Storage> opened(const Log& log) const {
    auto storage = search::open_storage(address_);
    storage->tell_to(log);
    return storage;
  }

  // Over connections that have ended when the search is joined, which has its own.
  std::optional<tune::SearchOffer> offer_in(std::set<std::string>& passed_over, const WorkerRunOptions& how,
                                            const Log& log) const {
    return tune::offer_of_search(*opened(log),
                                 {.address = address_,
                                  .study = study_,
                                  .patience = how.patience,
                                  .allow_code = allow_code_,
                                  .passed_over = how.until_idle ? &passed_over : nullptr},
                                 log);
  }
  tune::SearchOffer with_files(tune::SearchOffer offer, const std::filesystem::path& fetched, const Log& log) const {
    return tune::with_files(std::move(offer), *opened(log), arguments_.given_files(), fetched, log);
  }

  int report_nothing(const std::string& why, const WorkerRunOptions& how) const {
    tune::WorkerRun nothing;
    nothing.reason = why;
    if (json_) {
      print_worker(nothing, how);
    } else {
      std::cout << why << "\n";
    }
    return exit_done;
  }

  JobArguments arguments_;
  std::string storage_, study_;
  std::string address_;  // of the search, where its configuration comes from the study; "": from the command line
  double patience_ = 600;
  std::optional<double> drain_, until_idle_;
  bool allow_code_ = false, quiet_ = false, json_ = false;
  bool worked_ = false;  // for some search
  std::string failure_;  // why it could not for one
  EndOfInput end_of_input_;
};

}  // namespace

Entry<Command> worker() {
  return {"Runs trials of a search that another process leads, through a shared storage.", make_as<Worker, Command>};
}

}  // namespace quasar::cli::commands
