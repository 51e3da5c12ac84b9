// What the classes are called, for people. Data sets that know are Named besides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::data {

using ClassNames = std::map<int64_t, std::string>;

class Named {
 public:
  virtual ~Named() = default;
  virtual std::string class_name(int64_t model_class) const = 0;  // "": it has none
};

// Of any data set; "" when it does not know.
std::string class_name_of(const Dataset& samples, int64_t model_class);

// The option class_names, by the model's class: names are numbered as labels are, so that label_offset is added to both. A list
// of names, {class: name}, or a file: .yaml, .yml or .json with one of these, anything else one name per line, the first for
// class 0. A file is looked for from `base`, then in `folder`. `own`: the names that the samples bring, by label, where the
// option is not given. Throws Error that begins with `owner` or names the file.
ClassNames read_class_names(const Options& options, const std::filesystem::path& base, const std::filesystem::path& folder,
                            const std::string& owner, ClassNames own = {});

}  // namespace quasar::data
