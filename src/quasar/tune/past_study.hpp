// Studies of earlier searches, found by their folder, database file or URL.
#pragma once

#include <filesystem>
#include <memory>
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

// `place`: an output folder (all its .db files are looked into), a database file or a URL. `name`: which study; "": the one
// called `preferred` if there is one, else the one that the folder's results are of, else the only one that no other succeeds
// (continuation.hpp). Throws Error, which
// names what there is, when there is no such study.
PastStudy past_study(const std::string& place, const std::string& name, const std::string& preferred = "");

// A user attribute of a study: {reader, split, folder} of its calibration samples; split: null without one; relative paths start
// from the folder.
inline constexpr const char* samples_attribute = "calibration";

// A finished trial of an earlier search, whose model is to be made again.
struct PastTrial {
  Json words;         // its configuration, with the search's target as key `target`
  std::string where;  // "trial 3 of the study 'AutoSearch' in out/auto_search.db"
  Json study;         // the study's attributes: what an older one does not tell is not compared

  // Throws Error when the search was about another model.
  void check_model(const std::filesystem::path& model) const;
  // The search's calibration samples; nullptr: the study does not tell where they are. Throws Error when they are not there.
  data::DatasetPtr samples(const std::vector<graph::Value>& inputs) const;
  // A note when these are not the search's; "": they are.
  std::string note_on(const data::Dataset& samples) const;
};

// Throws Error when there is no such trial, or it did not finish.
PastTrial past_trial(const std::string& place, const std::string& study, int64_t number);

}  // namespace quasar::tune
