// Studies of earlier searches, found by their folder, database file or URL.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {

struct PastStudy {
  search::StudyRecord record;
  std::vector<search::Trial> trials;
  std::string where;  // for messages: the database
};

// Where to look: an output folder (all its .db files are looked into), a database file or a URL.
struct Place {
  Place(std::string path_or_url, std::string storage_of_folder = "", std::string named = "--study-name")
      : path(std::move(path_or_url)), storage(std::move(storage_of_folder)), named_by(std::move(named)) {}
  Place(const char* path_or_url) : Place(std::string(path_or_url)) {}

  std::string path;
  std::string storage;   // the address that holds an output folder's study, as the user gives it; "": the folder itself
  std::string named_by;  // the option or key by which users say which study, for messages
};

// `name`: which study; "": the one called `preferred` if there is one, else the one that the folder's results are of, else the
// only one that no other succeeds (continuation.hpp). Nothing is made or changed. Throws Error, which names what there is, when
// there is no such study, and for a folder whose study is on a server that only its result.json names (expect_consent).
PastStudy past_study(const Place& place, const std::string& name, const std::string& preferred = "");

// A finished trial of an earlier search, whose model is to be made again.
struct PastTrial {
  Json words;         // its configuration, with the search's target as key `target`
  std::string where;  // "trial 3 of the study 'AutoSearch' in out/auto_search.db"
  Json study;         // the study's attributes: what an older one does not tell is not compared

  // The search's float model, as an absolute path. Throws Error where the study does not tell it.
  std::filesystem::path model() const;
  // Throws Error when the search was about another model.
  void check_model(const std::filesystem::path& model) const;
  // The search's calibration samples; nullptr: the study does not tell where they are. Throws Error when they are not there.
  data::DatasetPtr samples(const std::vector<graph::Value>& inputs) const;
  // A note when these are not the search's; "": they are.
  std::string note_on(const data::Dataset& samples) const;
};

// nullopt: the best one by the results in the output folder. Throws Error when there is no such trial, or it did not finish.
PastTrial past_trial(const Place& place, const std::string& study, std::optional<int64_t> number);

// The server that the result.json of an output folder without a database of its own names; "": none.
std::string server_named_in(const std::string& folder);

// Throws Error, which shows the address and `how` to agree: whoever made a folder's result.json would be sent the user's login,
// and could have any server called that this machine reaches.
[[noreturn]] void expect_consent(const std::string& folder, const std::string& address, const std::string& how);

}  // namespace quasar::tune
