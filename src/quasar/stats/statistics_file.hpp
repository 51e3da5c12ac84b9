// Statistics as bytes and back, bit for bit: what one process observed, others read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quasar/stats/statistics.hpp"

namespace quasar::stats {

// What bytes must hold to be of use.
struct FileContents {
  std::string key;                  // 32 characters that stand for everything that the statistics depend on
  std::vector<std::string> values;  // by name, each once
  Requests requests = {};
  std::set<size_t> sizes = {};  // numbers of samples
};

// `seen`: number of samples -> statistics, as collect() gives them for these values, requests and sizes; what the user gave
// (TensorStats::given) is left out.
std::string bytes_of(const std::map<size_t, Statistics>& seen, const FileContents& contents);

// The same statistics. Throws Error, which says in a few words what is wrong, for bytes that are damaged, of another version, or
// hold something else; memory stays within a few times most_bytes(), whatever the bytes say.
std::map<size_t, Statistics> statistics_of(std::string_view bytes, const FileContents& contents);

// No bytes with these contents are longer.
size_t most_bytes(const FileContents& contents);

}  // namespace quasar::stats
