// Ids of tokens, positions and categories that samples feed: those beyond the table in which the model looks them up are found
// when a sample is read, before the model runs on it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"

namespace quasar::data {

// The table in which a model looks up what an input gives.
struct IdTable {
  std::string name;  // of the initializer
  int64_t rows = 0;
};

// The smallest one for every input of whole numbers that reaches, as it is or in another shape or type, a Gather of a constant's
// rows. Tables in bodies of If, Loop and Scan do not count: who knows whether they are read.
std::map<std::string, IdTable> id_tables(const graph::Model& model);

// Hears of ids below 0, which count from the table's end. Thread-safe.
class NegativeIds {
 public:
  void add(const std::string& input, const std::string& sentence);  // the first of an input is kept
  std::vector<std::string> news();                                  // what was not told yet

 private:
  std::mutex lock_;
  std::map<std::string, std::string> kept_;
  std::vector<std::string> untold_;
};

// The same samples, whose at() throws Error for an id that is in no row: it names the sample, the input, the place, the id and
// the table's size. null stays null.
DatasetPtr with_checked_ids(DatasetPtr samples, const graph::Model& model, std::shared_ptr<NegativeIds> negative = nullptr);

}  // namespace quasar::data
