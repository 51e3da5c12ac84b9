#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "quasar/base/file.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/launch_files.hpp"
#include "quasar/cli/new_password.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/search/postgresql/postgresql_address.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/studies/kept_files.hpp"

namespace quasar::cli::commands {
namespace {
namespace fs = std::filesystem;

class Launch final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("manager", manager_, "slurm or kubernetes")->required();
    app.add_option("config", config_, "the search's configuration, a .yaml or .json file")->required();
    app.add_option("--workers", files_.workers, "workers beside the leader, which runs trials too (default 4)");
    app.add_option("--cpus", files_.cpus, "processors of each of them (default 4)");
    app.add_option("--memory", files_.memory, "GiB of memory of each of them (default 8)");
    app.add_option("--gpus", files_.gpus, "NVIDIA GPUs of each of them, on which it scores candidates (default 0)");
    app.add_option("--storage", files_.storage,
                   "postgresql://user@host:port/database (default: that of the configuration, or a database is set up)");
    hours_ = app.add_option("--hours", files_.hours, "slurm: hours that a task may take (default 24)");
    folder_ = app.add_option("--folder", files_.folder,
                             "slurm: for the database, seen by all nodes (default quasar_cluster beside the configuration)");
    sbatch_ = app.add_option("--sbatch", files_.sbatch, "slurm: an option of sbatch without its dashes, such as partition=short");
    image_ = app.add_option("--image", files_.image, "kubernetes: the image with the program quasar (default quasar)");
    claim_ = app.add_option("--claim", files_.claim,
                            "kubernetes: a PersistentVolumeClaim that holds model and samples (default: one is made)");
    spot_ =
        app.add_option("--spot", files_.spot, "kubernetes: KEY=VALUE, the label of nodes that may be taken back, for workers");
    app.footer("Example: quasar launch slurm search.yaml --workers 20 > quasar.sbatch");
  }

  int run() override {
    static const std::vector<std::string> managers{"slurm", "kubernetes"};
    const bool is_slurm = manager_ == managers.front();
    if (!is_slurm && manager_ != managers.back())
      throw Error("quasar launch knows no '" + manager_ + "'; known: " + joined(managers) + did_you_mean(manager_, managers));
    refuse(is_slurm ? std::vector{image_, claim_, spot_} : std::vector{hours_, folder_, sbatch_});
    check_numbers();
    files_.configuration = fs::absolute(config_).lexically_normal();
    files_.text = read_file(files_.configuration);
    const Json words = tune::with_preset(tune::canonical_keys(tune::read_words(files_.configuration)));
    const tune::Job job = tune::parse_job(words, files_.configuration.parent_path());
    files_.has_code = !names_of_code(words).empty();
    files_.study = job.study.name;
    choose_storage(job);
    std::cout << (is_slurm ? slurm(job) : kubernetes(words, job));
    return exit_done;
  }

 private:
  void refuse(const std::vector<CLI::Option*>& of_others) const {
    for (const CLI::Option* option : of_others) {
      if (option->count() > 0) throw Error(option->get_name() + " is not for " + manager_ + "; see quasar launch --help");
    }
  }

  void check_numbers() const {
    const auto check = [](const char* name, int64_t value, int64_t most, int64_t least = 1) {
      if (value < least || value > most)
        throw Error(std::string(name) + " is " + std::to_string(value) + ", but must be from " + std::to_string(least) + " to " +
                    std::to_string(most));
    };
    check("--workers", files_.workers, 10000);
    check("--cpus", files_.cpus, 1024);
    check("--memory", files_.memory, 100000);
    check("--hours", files_.hours, 10000);
    check("--gpus", files_.gpus, 64, 0);
  }

  // A file of SQLite that the configuration names is for a search of one process.
  void choose_storage(const tune::Job& job) {
    if (!files_.storage.empty() && !search::is_shared_storage(files_.storage))
      throw Error("--storage is '" + without_password(files_.storage) +
                  "', but processes on several machines need postgresql://user@host:port/database");
    if (files_.storage.empty() && search::is_shared_storage(job.study.storage)) {
      files_.storage = job.study.storage;
      named_by_ = config_ + ": study_storage_db";
    }
    if (!files_.storage.empty()) search::postgresql_address(files_.storage);  // throws where it could not be opened
  }

  // Whose files workers run.
  static std::vector<std::string> names_of_code(const Json& words) {
    std::vector<std::string> out;
    for (const char* key : {"search_evaluator", "custom_op_library"}) {
      const Json value = words.value(key, Json());
      if (value.is_object() || (key == std::string("custom_op_library") && !value.is_null())) out.emplace_back(key);
    }
    return out;
  }

  std::string slurm(const tune::Job& job) {
    if (!files_.storage.empty() && without_login(files_.storage) != files_.storage)
      throw Error(named_by_ + " has a password, which would stand in the script: put it into ~/.pgpass or PGPASSWORD, and give " +
                  without_login(files_.storage));
    for (const auto& line : files_.sbatch) {
      if (line.empty() || line.starts_with("-") || line.find('\n') != std::string::npos)
        throw Error("--sbatch is '" + line + "', but must be an option of sbatch without its dashes, such as partition=short");
    }
    if (files_.folder.empty()) files_.folder = files_.configuration.parent_path() / "quasar_cluster";
    files_.folder = fs::absolute(files_.folder).lexically_normal();
    if (const auto beyond = tune::files_beyond_limit(job); !beyond.empty())
      std::cerr << "warning: all nodes must see " << joined(beyond)
                << ": that is more than a study keeps for workers (study_files_limit)\n";
    return slurm_script(files_);
  }

  void expect_in_volume(const std::string& key, const Json& value) const {
    const Json path = value.is_object() ? value.value("path", Json()) : value;
    if (path.is_string() && fs::path(path.get<std::string>()).is_absolute())
      throw Error(config_ + ": " + key + " is '" + path.get<std::string>() +
                  "', but pods have another file system: name it from the configuration's folder, as it lies in the volume");
  }

  // Pods of workers have the image, and what the study keeps.
  void expect_in_image(const Json& words) const {
    const auto expect = [&](const std::string& key, const std::string& named) {
      const std::string file = named.substr(0, named.find(".py:") == std::string::npos ? named.size() : named.find(".py:") + 3);
      if (fs::path(file).is_absolute() || !fs::exists(files_.configuration.parent_path() / file)) return;
      throw Error(config_ + ": " + key + " names the file '" + file +
                  "', which workers' pods do not have: put it into the image (--image), and name it by its absolute path there");
    };
    const Json evaluator = words.value("search_evaluator", Json::object()), library = words.value("custom_op_library", Json());
    for (const char* form : {"command", "python", "library"}) {
      const Json value = evaluator.is_object() ? evaluator.value(form, Json()) : Json();
      for (const Json& word : value.is_array() ? value : Json::array({value})) {
        if (word.is_string()) expect("search_evaluator", word.get<std::string>());
      }
    }
    for (const Json& word : library.is_array() ? library : Json::array({library})) {
      if (word.is_string()) expect("custom_op_library", word.get<std::string>());
    }
  }

  std::string kubernetes(const Json& words, const tune::Job& job) {
    if (const size_t equal = files_.spot.find('='); !files_.spot.empty() && (equal == 0 || equal == std::string::npos))
      throw Error("--spot is '" + files_.spot + "', but must be KEY=VALUE, a label that your cluster gives such nodes");
    for (const char* key : {"model_input", "calib_data_reader", "eval_data_reader", "holdout_data_reader", "data_reader"})
      expect_in_volume(key, words.value(key, Json()));
    const Json models = words.value("models", Json::object());
    for (const auto& [name, model] : models.items()) expect_in_volume("models." + name, model);
    expect_in_image(words);
    if (without_login(job.study.storage) != job.study.storage)
      throw Error(config_ +
                  ": study_storage_db has a password, which all would see who may read the configuration in the cluster: take it "
                  "out, and give the whole address by --storage, which becomes a secret");
    if (const auto beyond = tune::files_beyond_limit(job); !beyond.empty())
      throw Error(config_ + ": workers' pods would not have " + joined(beyond) +
                  ": they have what the study keeps, and study_files_limit is " + std::to_string(job.study.files_limit) +
                  " bytes; put a larger one into the configuration");
    files_.password = new_password();
    return kubernetes_objects(files_);
  }

  std::string manager_, config_, named_by_ = "--storage";
  LaunchOptions files_;
  CLI::Option *hours_ = nullptr, *folder_ = nullptr, *sbatch_ = nullptr, *image_ = nullptr, *claim_ = nullptr, *spot_ = nullptr;
};

}  // namespace

Entry<Command> launch() {
  return {"Prints the files with which Slurm or Kubernetes runs a search, its workers and a database.", make_as<Launch, Command>};
}

}  // namespace quasar::cli::commands
