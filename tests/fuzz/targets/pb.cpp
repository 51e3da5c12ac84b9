// The bytes as input_0.pb, an onnx.TensorProto.
#include "fuzz/target.hpp"
#include "quasar/data/dataset.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  fuzz::file("input_0.pb", fuzz::text_of(data, size));
  const Json words{{"reader", "pb"}, {"path", fuzz::scratch().string()}};
  for (const DataType type : {DataType::float32, DataType::int8, DataType::int64, DataType::boolean, DataType::bfloat16}) {
    const graph::Value any{.name = "x", .type = type};
    const graph::Value line{.name = "x", .type = type, .shape = Shape{1, -1}};
    fuzz::refusal([&] { data::open(words, {any})->at(0); });
    fuzz::refusal([&] { data::open(words, {line})->at(0); });
  }
  return 0;
}
