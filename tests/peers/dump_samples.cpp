// The samples of a data set as raw float32 on standard output, for a model with one input [1, 3, HEIGHT, WIDTH].
// usage: dump_samples DATA HEIGHT WIDTH
#include <cstdlib>
#include <iostream>

#include "quasar/data/dataset.hpp"

int main(int count, char** words) {
  using namespace quasar;
  if (count != 4) return 1;
  const graph::Value input{
      .name = "x", .type = DataType::float32, .shape = Shape{1, 3, std::atoll(words[2]), std::atoll(words[3])}};
  const auto samples = data::open(words[1], {input});
  for (size_t i = 0; i < samples->size(); ++i) {
    const data::Sample sample = samples->at(i);
    const auto bytes = sample[0].bytes();
    std::cout.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}
