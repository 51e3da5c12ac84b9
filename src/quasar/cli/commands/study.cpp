#include "quasar/search/study.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/standard_output.hpp"
#include "quasar/report/study_view.hpp"

namespace quasar::cli::commands {
namespace {

class Studies final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("action", action_, "list, stop or remove")->required();
    app.add_option("address", address_, "the database that holds the studies: postgresql://…, a file, or an output folder")
        ->required();
    app.add_option("name", name_, "which study to stop or remove (stop: the one that runs)");
    app.add_option("--study", study_, "the same, as other commands have it");
    app.add_flag("--json", json_, json_help);
    app.footer("Example: quasar study stop postgresql://me@server/quasar");
  }

  int run() override {
    static const std::vector<std::string> actions{"list", "stop", "remove"};
    catch_signals();
    const CancelScope scope(stop_requested());
    const auto chosen = std::ranges::find(actions, action_);
    if (chosen == actions.end())
      throw Error("quasar study cannot '" + action_ + "'; known: " + joined(actions) + did_you_mean(action_, actions));
    if (!name_.empty() && !study_.empty() && name_ != study_)
      throw Error("the study is named twice, '" + name_ + "' and '" + study_ + "'; give one name");
    if (name_.empty()) name_ = study_;
    address_ = report::study_address(address_);
    const auto readable = search::open_to_read(address_);  // so that nothing is made where there is nothing
    if (readable == nullptr) throw Error("there is no study in " + without_password(address_));
    readable->tell_to(on_standard_error());
    Json out;
    if (action_ == actions[0]) {
      out = listed(*readable);
    } else if (action_ == actions[1]) {
      out = stopped();
    } else {
      out = removed();
    }
    std::cout << (json_ ? out.dump(2) + "\n" : in_words(out));
    return exit_done;
  }

 private:
  std::unique_ptr<search::Storage> opened() const {
    auto storage = search::open_storage(address_);
    storage->tell_to(on_standard_error());
    return storage;
  }

  static Json listed(search::Storage& storage) {
    Json out = Json::array();
    for (const auto& study : storage.studies()) {
      const Json status = report::study_status(storage, study);
      out.push_back({{"study", study.name}, {"state", status["state"]}, {"trials", status["trials"]}, {"best", status["best"]}});
    }
    return out;
  }

  // Asks the leader, and waits for it to say that it has ended.
  Json stopped() const {
    constexpr double patience = 120, untold = 1;  // seconds; a leader that says that it has ended is heard at once
    const auto storage = opened();
    const auto study = report::study_in(*storage, name_);
    if (storage->sharing() == nullptr)
      throw Error(without_password(address_) + " is a file: whoever runs the search stops it, by Ctrl-C");
    if (!storage->sharing()->is_locked(study.id))
      throw Error("nobody leads the search of the study '" + study.name + "', so that there is nothing to stop");
    const auto said = [&] { return storage->sharing()->attribute(study.id, search::search_attribute); };
    storage->set_attribute(study.id, search::stop_attribute, said().value("run", Json()));
    for (const Stopwatch watch; watch.seconds() < patience;) {
      if (const Json now = said(); now.value("state", "") == "ended")
        return {{"stopped", study.name}, {"reason", now.value("reason", "")}};
      throw_if_cancelled();
      storage->sharing()->wait_for_news(study.id, untold, stop_requested());
    }
    throw Error("the study '" + study.name + "' was asked to stop, but its leader has not ended within " + Json(patience).dump() +
                    " s: it prepares still, or its own message says more",
                Blame::world);
  }

  Json removed() const {
    if (name_.empty()) throw Error("say which study to remove: quasar study remove ADDRESS NAME");
    const auto storage = opened();
    const auto study = report::study_in(*storage, name_);
    storage->remove(study);
    return {{"removed", study.name}};
  }

  static std::string in_words(const Json& out) {
    if (out.contains("removed")) return "removed: " + printable_name(out["removed"].get<std::string>()) + "\n";
    if (out.contains("stopped"))
      return "stopped: " + printable_name(out["stopped"].get<std::string>()) + ": " + out["reason"].get<std::string>() + "\n";
    std::string text;
    for (const Json& study : out) {
      const Json& trials = study["trials"];
      const std::string state = study["state"];
      text += printable_name(study["study"].get<std::string>()) + ": " + (state.empty() ? "no search runs in it" : state) + ", " +
              trials["complete"].dump() + " complete, " + trials["failed"].dump() + " failed, " + trials["running"].dump() +
              " running\n";
    }
    return text;
  }

  std::string action_, address_, name_, study_;
  bool json_ = false;
};

}  // namespace

Entry<Command> study() {
  return {"Lists, stops or removes studies of a database.", make_as<Studies, Command>};
}

}  // namespace quasar::cli::commands
