// A guard against scoring on samples that were also used to choose: the same sample in two splits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"

namespace quasar::data {

// A hash of a sample's content. Of watched samples it is taken when they are first read, so that it costs nothing afterwards.
std::string content_of(const Dataset& samples, size_t index);

class WatchedDataset;

// Knows the samples of several splits by a hash of their content, which is taken when a sample is first read, so that nothing is
// read for the guard's sake. Samples that nobody read count in no comparison.
class OverlapGuard {
 public:
  // The same samples, watched. `split` names them in sentences: "calibration". null stays null.
  DatasetPtr watch(const std::string& split, DatasetPtr samples);
  // The same for samples that may be in another split: they are compared with none.
  DatasetPtr watch_alone(DatasetPtr samples) const;

  // One sentence for every pair of splits that have samples in common; a pair is told once.
  std::vector<std::string> news();

 private:
  struct Split {
    std::string name;
    std::shared_ptr<const WatchedDataset> samples;
  };
  std::vector<Split> splits_;
  std::vector<std::pair<size_t, size_t>> told_;
};

}  // namespace quasar::data
