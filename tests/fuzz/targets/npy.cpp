// The bytes as an .npy file: the array by itself, and as a sample of the reader npy.
#include "quasar/data/npy.hpp"

#include "fuzz/target.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/data/labels.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  const std::string bytes = fuzz::text_of(data, size);
  fuzz::refusal([&] {
    const data::NpyArray array(data::memory_bytes(bytes), "the array");
    const Tensor all = array.all();
    fuzz::expect(all.bytes().size() <= size, "an array holds no more than its file");
    if (!array.shape().empty() && array.shape()[0] > 0) {
      const Tensor row = array.row(0);
      const auto first = row.bytes();
      fuzz::expect(std::equal(first.begin(), first.end(), all.bytes().begin()), "the first row begins the array");
      array.row(static_cast<size_t>(array.shape()[0] - 1));
    }
    data::labels_of(all, "the array");
  });
  fuzz::file("sample.npy", bytes);
  const graph::Value any{.name = "x", .type = DataType::float32};
  const graph::Value picture{.name = "x", .type = DataType::float16, .shape = Shape{-1, 3, -1, -1}};
  const Json plain{{"reader", "npy"}, {"path", fuzz::scratch().string()}};
  Json turned = plain;
  turned.update({{"layout", "NHWC"}, {"mean", {1, 2, 3}}, {"scale", 0.5}});
  fuzz::refusal([&] { data::open(plain, {any})->at(0); });
  fuzz::refusal([&] { data::open(turned, {picture})->at(0); });
  return 0;
}
