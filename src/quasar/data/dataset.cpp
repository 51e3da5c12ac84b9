#include "quasar/data/dataset.hpp"

#include <algorithm>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/data/class_names.hpp"
#include "quasar/data/picture.hpp"
#include "quasar/data/truth.hpp"

namespace quasar::data {
namespace {

class Subset : public Dataset, public Truths, public Pictures, public Named {
 public:
  Subset(DatasetPtr all, std::vector<size_t> indices) : all_(std::move(all)), indices_(std::move(indices)) {}
  size_t size() const override { return indices_.size(); }
  Sample at(size_t index) const override { return all_->at(indices_.at(index)); }
  std::optional<int64_t> label(size_t index) const override { return all_->label(indices_.at(index)); }
  std::optional<Boxes> boxes(size_t index) const override { return boxes_of(*all_, indices_.at(index)); }
  std::optional<Tensor> target(size_t index) const override { return target_of(*all_, indices_.at(index)); }
  std::optional<Picture> picture(size_t index) const override { return picture_of(*all_, indices_.at(index)); }
  std::string class_name(int64_t model_class) const override { return class_name_of(*all_, model_class); }
  std::string source() const override { return all_->source(); }

 private:
  DatasetPtr all_;
  std::vector<size_t> indices_;
};

}  // namespace

DatasetPtr subset(DatasetPtr all, std::vector<size_t> indices) {
  for (const size_t index : indices) {
    if (index < all->size()) continue;
    throw Error("sample " + std::to_string(index) + " was asked of " + all->source() + ", which holds " +
                std::to_string(all->size()));
  }
  return std::make_shared<Subset>(std::move(all), std::move(indices));
}

DatasetPtr first(DatasetPtr all, size_t count) {
  std::vector<size_t> indices(std::min(count, all->size()));
  std::iota(indices.begin(), indices.end(), size_t{0});
  return subset(std::move(all), std::move(indices));
}

}  // namespace quasar::data
