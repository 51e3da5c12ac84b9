// Studies of earlier searches, found by their folder, database file or URL.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

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

// The configuration of a trial of an earlier search, with the search's target as key `target`. Throws Error when there is no such
// trial, or it did not finish.
Json words_of_trial(const std::string& place, const std::string& study, int64_t number);

}  // namespace quasar::tune
