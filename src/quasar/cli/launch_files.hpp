// Files with which a cluster's manager runs a search: its leader, workers that come and go, and a database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace quasar::cli {

struct LaunchOptions {
  std::filesystem::path configuration;  // absolute
  std::string text;                     // what stands in it
  int64_t workers = 4;
  int64_t cpus = 4, memory = 8;  // of each process: processors, GiB
  int64_t gpus = 0;              // of each process, on which it scores candidates
  bool has_code = false;         // the configuration names an evaluator or a library of operators, which workers are to run
  std::string study;             // the search's, which workers look for: a database may have others
  std::string storage;           // the database's address, without a password where that comes from elsewhere; "": one is set up
  // Slurm.
  int64_t hours = 24;
  std::filesystem::path folder;     // that all nodes see: the database, and files by which tasks tell each other
  std::vector<std::string> sbatch;  // further lines, "partition=short"
  // Kubernetes.
  std::string image = "quasar", claim, spot, password;  // claim: a volume that holds model and samples; "": one is made
};

// A batch script for sbatch: an array of jobs, the first of which leads.
std::string slurm_script(const LaunchOptions& options);

// Objects for kubectl apply: secret, configuration, volumes, database, leader, workers.
std::string kubernetes_objects(const LaunchOptions& options);

// The text with every "{{name}}" replaced by its value.
std::string filled(const std::string& text, const std::map<std::string, std::string>& values);

// What quasar search and quasar worker are told of so many accelerators, with a space in front; "": none.
std::string devices_option(int64_t gpus);

// The option by which workers run what the configuration names, with a space in front; "": it names nothing.
std::string code_option(const LaunchOptions& options);

// The text as one word of a shell.
std::string as_word(const std::string& text);

}  // namespace quasar::cli
