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
    app.add_option("folder", folder_, "a search's output_dir, or the database that holds its study: postgresql://…, or a file")
        ->required();
    app.add_option("other", other_, "another one, to be shown beside it");
    app.add_option("--storage", storage_, "where the study of a folder is, if not where its result.json says");
    app.add_option("--study", study_, "which study (default: the one that runs, or that the folder's results are of)");
    auto* format = app.add_option("--format", format_, "html, markdown, csv or json (default: what -o ends on, or html)");
    app.add_option("-o,--output", output_, "the file to write; '-' is standard output, the default of all but html");
    app.add_flag("--json", json_, json_help)->excludes(format);
    app.footer(
        "Without -o a page goes to FOLDER/report.html, of two searches to FOLDER/comparison.html, of an address to "
        "./report.html.\n"
        "Example: quasar report quasar_out --format markdown");
  }

  int run() override {
    if (json_) format_ = "json";
    if (format_.empty()) format_ = format_by_name(output_);
    const auto writer = report::writers::table().make(format_);
    const fs::path file = destination();
    if (!output_.empty() && file != "-") check_outputs({{"-o", file.string()}}, inputs());
    refuse_live_page(file);
    expect_folder_for_storage();
    std::vector<Json> searches{report::contents_at(folder_, storage_of(folder_), study_, on_standard_error())};
    if (!other_.empty()) searches.push_back(report::contents_at(other_, storage_of(other_), study_, on_standard_error()));
    for (const Json& contents : searches) {
      if (contents.contains("missing")) tell_missing(file, contents["missing"]);
      if (contents.contains("study_alone")) expect_no_fuller_page(file);
    }
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
  static std::string format_by_name(const std::string& file) {
    const std::string end = fs::path(file).extension().string();
    for (const auto& [ending, format] : {std::pair("", "html"),
                                         {".html", "html"},
                                         {".htm", "html"},
                                         {".md", "markdown"},
                                         {".markdown", "markdown"},
                                         {".csv", "csv"},
                                         {".json", "json"}}) {
      if (end == ending) return format;
    }
    if (is_special_file(file)) return "html";
    throw Error("-o '" + file + "': no form ends in '" + end + "': .html, .md, .csv and .json do; or say --format");
  }

  // The page that a search keeps up to date itself, and that an open browser follows.
  static void refuse_live_page(const fs::path& file) {
    const fs::path folder = fs::absolute(file).parent_path();
    if (file.filename() != "report.html" || !report::is_searched_now(folder)) return;
    throw Error("the search in '" + folder.string() +
                "' runs, and writes its report.html itself: open that, or name another file (-o FILE)");
  }

  bool replaces_page(const fs::path& file) const { return output_.empty() && other_.empty() && file != "-" && fs::exists(file); }

  // What a study alone tells is less than the page that a search has left: no layers, no hold-out samples.
  void expect_no_fuller_page(const fs::path& file) const {
    if (replaces_page(file) && fs::exists(file.parent_path() / "result.json"))
      throw Error(file.string() + " is a search's own page, which tells more than its study: name another file (-o FILE)");
  }

  // A page with all trials is not replaced by one without.
  void tell_missing(const fs::path& file, const std::string& why) const {
    if (replaces_page(file))
      throw Error("the trials of the search are gone (" + why + "), and " + file.string() + " would lose them: " +
                  (why.find("in memory") == std::string::npos ? "say where the study is (--storage ADDRESS), or name" : "name") +
                  " another file (-o FILE)");
    on_standard_error()(Level::warning, "the report has no trials: " + why);
  }

  void expect_folder_for_storage() const {
    const bool has_folder = !report::is_study_address(folder_) || (!other_.empty() && !report::is_study_address(other_));
    if (!storage_.empty() && !has_folder)
      throw Error("--storage says where the study of an output folder is, but '" + without_password(folder_) +
                  "' is a study's address");
  }

  // Of two folders that which has no study of its own.
  std::string storage_of(const std::string& place) const {
    const bool has_its_own = report::is_study_address(place) || fs::exists(fs::path(place) / "auto_search.db");
    return other_.empty() || !has_its_own ? storage_ : "";
  }

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
      if (report::is_study_address(folder)) return without_login(folder);
      return fs::absolute(folder / fs::path("")).lexically_normal().parent_path().filename().string();
    };
    if (other_.empty()) return {last(folder_)};
    return last(folder_) == last(other_) ? std::vector{folder_, other_} : std::vector{last(folder_), last(other_)};
  }

  fs::path destination() const {
    if (!output_.empty()) return output_;
    if (report::writers::table().resolve(format_) != "html") return "-";
    return (report::is_study_address(folder_) ? fs::path() : fs::path(folder_)) /
           (other_.empty() ? "report.html" : "comparison.html");
  }

  std::string folder_, other_, storage_, study_, format_, output_;
  bool json_ = false;
};

}  // namespace

Entry<Command> report() {
  return {"Shows what a search found, or two searches side by side.", make_as<Report, Command>};
}

}  // namespace quasar::cli::commands
