// A data set made of another one: what is known of a sample besides its tensors is handed on.
#pragma once

#include "quasar/data/annotations.hpp"
#include "quasar/data/class_names.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/data/preview.hpp"
#include "quasar/data/repeating.hpp"

namespace quasar::data {

class View : public Dataset, public Truths, public Pictures, public Named, public Repeating {
 public:
  explicit View(DatasetPtr all) : all_(std::move(all)) {}
  size_t size() const override { return all_->size(); }
  Sample at(size_t index) const override { return all_->at(place(index)); }
  std::optional<int64_t> label(size_t index) const override { return all_->label(place(index)); }
  std::string source() const override { return all_->source(); }
  std::optional<Boxes> boxes(size_t index) const override { return boxes_of(*all_, place(index)); }
  std::optional<Tensor> target(size_t index) const override { return target_of(*all_, place(index)); }
  std::optional<Picture> picture(size_t index) const override { return picture_of(*all_, place(index)); }
  std::string class_name(int64_t model_class) const override { return class_name_of(*all_, model_class); }
  int64_t repeats() const override { return repeats_of(*all_); }

 protected:
  const Dataset& all() const { return *all_; }
  virtual size_t place(size_t index) const { return index; }  // of a sample of this one in the other

 private:
  DatasetPtr all_;
};

}  // namespace quasar::data
