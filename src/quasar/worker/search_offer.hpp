// What a worker has that was given an address and nothing else: the configuration of the search that runs there, as its leader
// has written it into the study. Whoever can write to the database can have written it: it names what is read, and runs nothing
// unless the user allows it.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "quasar/base/log.hpp"
#include "quasar/job/job.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {

struct SearchOffer {
  std::string study;             // its name
  int64_t id = -1;               // and its number in the database
  Json words;                    // the search's configuration, without what is a machine's own business
  std::filesystem::path folder;  // where its relative paths start
  Json known;                    // the study's attributes
  std::string run;               // of its leader, as Said has it
};

struct OfferWanted {
  std::string address;      // of the database, with which the words then name it
  std::string study;        // "": the only one whose search runs
  double patience = 600;    // seconds to wait for a search to begin
  bool allow_code = false;  // programs, libraries and Python files that the study names may be run
  // Of a worker that goes from search to search: runs that it cannot work for, as Said has them, of which it has told. nullptr:
  // of any other, which needs a search that it can work for.
  std::set<std::string>* passed_over = nullptr;
};

// Waits for a search that is led now. Throws Error where several are and none is named, where none begins, and for one that would
// run programs which are not allowed; and Cancelled. A worker that goes from search to search takes the first that it can work
// for, tells of the others, and gets nullopt where none has begun.
std::optional<SearchOffer> offer_of_search(search::Storage& storage, const OfferWanted& wanted, const Log& log);

// The offer with what the study keeps of model and samples (kept_files.hpp), where that is not on this machine: fetched into the
// folder. `given`: keys for which the worker has files of its own.
SearchOffer with_files(SearchOffer offer, search::Storage& storage, const std::set<std::string>& given,
                       const std::filesystem::path& into, const Log& log);

// Throws Error, which says by which option to give another, when the job's model or samples are not here, or when the model is
// not the search's.
void expect_offered_files(const SearchOffer& offer, const Job& job);

}  // namespace quasar::tune
