// Share of what is wrong in what a model reads or hears: insertions, deletions and substitutions between its answer and the truth
// (Levenshtein 1966), over the tokens of the truth, all samples together. With `blank` the output is one of connectionist
// temporal classification, decoded greedily (Graves et al. 2006): repeated classes are merged, then blanks dropped. With `space`
// words are compared instead: runs of tokens between this one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quasar/eval/metric.hpp"

namespace quasar::eval {

// `owner` begins messages: "metric word_error_rate".
std::unique_ptr<Metric> error_rate(const Options& options, const std::string& owner);

std::vector<OptionSpec> error_rate_options(const std::string& space_help);

}  // namespace quasar::eval
