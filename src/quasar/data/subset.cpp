#include <algorithm>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/data/view.hpp"

namespace quasar::data {
namespace {

class Subset final : public View {
 public:
  Subset(DatasetPtr all, std::vector<size_t> indices) : View(std::move(all)), indices_(std::move(indices)) {}
  size_t size() const override { return indices_.size(); }

 private:
  size_t place(size_t index) const override { return indices_.at(index); }
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
