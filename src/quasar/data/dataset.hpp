// Samples: one tensor per model input, batch axis of 1 (or as the model fixes it), read when asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::data {

using Sample = std::vector<Tensor>;  // in the order of the model's inputs

// Arrays by the name of the model's input that they feed; "" feeds the only input. Where a model takes one sample (or any number)
// at a time, an array with the input's rank holds a batch: its first axis counts samples. Labels stand under labels, label or y,
// one per sample, as whole numbers; or several, one per pixel or place; or, in items of one sample with `boxes` [n, 4] (left,
// top, right, bottom in pixels of the model's input), the classes of these, of which those with a 1 under `iscrowd` are crowds.
using Item = std::map<std::string, Tensor>;

// at() may be called from several threads at once and gives the same sample each time.
class QUASAR_API Dataset {
 public:
  virtual ~Dataset() = default;
  virtual size_t size() const = 0;
  virtual Sample at(size_t index) const = 0;
  virtual std::optional<int64_t> label(size_t index) const = 0;  // the model's class (label_offset added); nullopt: none
  virtual std::string source() const = 0;                        // for messages: "calib.npz"
};

using DatasetPtr = std::shared_ptr<const Dataset>;  // shared by the trials that read it at the same time

// Some of another's samples, in the given order.
QUASAR_API DatasetPtr subset(DatasetPtr all, std::vector<size_t> indices);
QUASAR_API DatasetPtr first(DatasetPtr all, size_t count);

// Opens a data source for a model with these inputs. `description` is what a configuration holds (a mapping with `reader` and
// options), or what the command line holds as text: a .npz file, a folder of .npy or of test_data_set_*, "random", or a .yaml
// or .json file with such a mapping. Relative paths start from `base`. Throws Error that names the file and the array.
QUASAR_API DatasetPtr open(const Json& description, const std::vector<graph::Value>& inputs,
                           const std::filesystem::path& base = {});

// `split`: {calibration: 100, evaluation: 300, holdout: rest, seed: 0} of one dataset: a seeded permutation, cut in this order.
struct Splits {
  DatasetPtr calibration, evaluation, holdout;  // holdout may be null
};
QUASAR_API Splits split(DatasetPtr all, const Json& description);

}  // namespace quasar::data
