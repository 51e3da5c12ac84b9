// What the rows of one statement (row_query.hpp) amount to.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "quasar/search/optuna/optuna_numbers.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search::optuna {

struct Row {
  int kind = 0;
  int64_t trial = 0;
  Cell<int64_t> place;
  Cell<double> number;
  std::string name, text, more;
  soci::indicator has_name = soci::i_ok, has_text = soci::i_ok, has_more = soci::i_ok;
};

class RowReader {
 public:
  // Throws Error for a row that makes no sense; what is wrong is said to be this study's.
  void take(const Row& row);
  // Once all rows were taken.
  Updates updates();

 private:
  void take_of_study(const Row& row);
  void head(const Row& row);
  Trial& trial_of(int64_t id);
  void parameter(Trial& trial, const Row& row);

  std::string name_;
  int64_t objectives_ = 0;
  Updates updates_;
  std::map<int64_t, size_t> places_;              // of trials, by id
  std::map<std::string, DistributionPtr> known_;  // trials share them
};

// An attribute's value. nullopt: NaN or Infinity is in it, or it is of another kind than Quasar's of this name. Quasar stores
// neither, so that it is some other program's, and left out: what was read could not be written again as it is.
std::optional<Json> attribute_in(const std::string& key, const std::string& text);

// What is wrong with these rows is said to be this study's.
template <class Work>
auto of_study(const std::string& name, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    const std::string why = error.what();
    throw Error("study '" + name + "': " + why + (why.ends_with("damaged") ? "" : ": the study is damaged"));
  }
}

}  // namespace quasar::search::optuna
