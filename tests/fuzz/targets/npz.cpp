// The bytes as an .npz archive of samples with labels.
#include "fuzz/target.hpp"
#include "quasar/data/annotations.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::fuzz {
namespace {

void read(const data::Dataset& samples) {
  const size_t count = samples.size();
  for (const size_t i : {size_t{0}, count / 2, count - 1}) {
    samples.at(i);
    samples.label(i);
    data::target_of(samples, i);
  }
}

}  // namespace
}  // namespace quasar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  const auto path = fuzz::file("samples.npz", fuzz::text_of(data, size));
  const graph::Value x{.name = "x", .type = DataType::float32};
  const graph::Value ids{.name = "ids", .type = DataType::int64, .shape = Shape{1, -1}};
  const Json words{{"reader", "npz"}, {"path", path.string()}};
  Json drawn = words;
  drawn.update({{"seed", 1}, {"limit", 3}, {"label_offset", -1}});
  fuzz::refusal([&] { fuzz::read(*data::open(words, {x})); });
  fuzz::refusal([&] { fuzz::read(*data::open(drawn, {x, ids})); });
  return 0;
}
