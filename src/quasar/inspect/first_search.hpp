// A whole search for somebody who has a model and samples, and has chosen nothing yet (`quasar auto`).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::tune {

struct FirstSearchOptions {
  std::filesystem::path model;
  Json data;                                 // as data::open takes it
  std::filesystem::path base = {};           // that relative paths start from
  std::function<void(Json&)> set_data = {};  // changes what was taken of the data before it is opened; empty: nothing does
  std::string labels = {};                   // an array of a .npz file, or the file of a folder of pictures; "": found by itself
  std::string metric = {};                   // of the goal; "": chosen by what the model answers
  std::string target = {};                   // "": what its types are for on this machine
  std::optional<double> loss = {};   // of the metric that may be lost: a share of the float model's, of a cosine in its unit.
                                     // nullopt: 0.01, what three answers are where samples are few, 0.1 of "relative"
  double seconds = 300;              // the search's time limit
  std::filesystem::path output_dir;  // of the results
};

struct FirstSearch {
  Json words;                      // the configuration, as parse_job takes it
  std::vector<std::string> lines;  // what was taken, and why: "task: classes (…)"
};

// Looks at model and samples. Throws Error for what cannot be read, for fewer samples than can be parted, and for pictures of
// which nothing tells what values the model takes.
FirstSearch first_search(const FirstSearchOptions& options);

// search.yaml: the configuration, with the lines as comments.
std::string file_of(const FirstSearch& first);

// "90", "90s", "5m", "1.5h" -> seconds. Throws Error for other words, and for less than a second.
double seconds_of(const std::string& words);

}  // namespace quasar::tune
