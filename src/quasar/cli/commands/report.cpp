#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "quasar/base/file.hpp"
#include "quasar/base/files/special_files.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/standard_output.hpp"
#include "quasar/inspect/inputs.hpp"
#include "quasar/report/study_view.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/studies/written_result.hpp"

namespace quasar::cli::commands {
namespace {

namespace fs = std::filesystem;

class Report final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("folder", folder_, "a search's output_dir, or the address of a database that holds its study")->required();
    app.add_option("other", other_, "another one, to be shown beside it");
    app.add_option("--storage", storage_, "the address of the study, where the search was on a server");
    app.add_option("--study", study_, "which study of an address (default: the one that runs)");
    auto* format = app.add_option("--format", format_, "html, markdown, csv or json")->capture_default_str();
    app.add_option("-o,--output", output_, "the file to write; '-' is standard output, the default of all but html");
    app.add_flag("--json", json_, json_help)->excludes(format);
    app.footer(
        "Without -o a page goes to FOLDER/report.html, of two searches to FOLDER/comparison.html, of an address to "
        "./report.html.\n"
        "Example: quasar report quasar_out --format markdown");
  }

  int run() override {
    if (json_) format_ = "json";
    const auto writer = report::writers::table().make(format_);
    const fs::path file = destination();
    if (!output_.empty() && file != "-") check_outputs({{"-o", file.string()}}, inputs());
    std::vector<Json> searches{report::contents_at(folder_, storage_, study_, on_standard_error())};
    if (!other_.empty()) searches.push_back(report::contents_at(other_, storage_, study_, on_standard_error()));
    const auto names = names_of();
    for (size_t i = 0; i < searches.size(); ++i) searches[i]["name"] = names[i];
    const std::string text = tune::with_result_of(folder_, [&] { return writer->write(searches); });
    if (file == "-") {
      std::cout << text;
    } else {
      output_.empty() ? write_file(file, text) : write_output(file, text);  // a link among results leads nowhere
      if (!is_special_file(file)) std::cout << file.string() << "\n";
    }
    return exit_done;
  }

 private:
  OverwriteGuard inputs() const {
    OverwriteGuard files;
    for (const auto& place : {folder_, other_, storage_}) {
      if (!search::is_shared_storage(place)) tune::reads_study(files, place);
    }
    return files;
  }

  // What tells the folders apart: their last parts, or all of them where those are the same.
  std::vector<std::string> names_of() const {
    const auto last = [](const std::string& folder) {
      if (search::is_shared_storage(folder)) return without_login(folder);
      return fs::absolute(folder / fs::path("")).parent_path().filename().string();
    };
    if (other_.empty()) return {last(folder_)};
    return last(folder_) == last(other_) ? std::vector{folder_, other_} : std::vector{last(folder_), last(other_)};
  }

  fs::path destination() const {
    if (!output_.empty()) return output_;
    if (report::writers::table().resolve(format_) != "html") return "-";
    const bool server = search::is_shared_storage(folder_);
    return (server ? fs::path() : fs::path(folder_)) / (other_.empty() ? "report.html" : "comparison.html");
  }

  std::string folder_, other_, storage_, study_, format_ = "html", output_;
  bool json_ = false;
};

}  // namespace

Entry<Command> report() {
  return {"Shows what a search found, or two searches side by side.", make_as<Report, Command>};
}

}  // namespace quasar::cli::commands
