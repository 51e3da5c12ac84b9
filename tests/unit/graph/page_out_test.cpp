#include "quasar/graph/page_out.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "quasar/base/file.hpp"
#include "quasar/graph/load.hpp"
#include "small_models.hpp"

namespace quasar::graph {
namespace {

size_t resident_pages() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST(PageOut, MappedWeightsLeaveTheMemoryAndKeepTheirValues) {
  constexpr int64_t count = int64_t{16} << 20;  // 64 MiB
  Model model = small_model();
  const Tensor weights = Tensor::of(Shape{count}, std::vector<float>(static_cast<size_t>(count), 1.5F));
  model.initializers["large"] = weights;
  const TemporaryFolder folder;
  save(model, folder.path() / "model.onnx", ExternalData::always);
  const Model loaded = load(folder.path() / "model.onnx");
  EXPECT_EQ(loaded.initializers.at("large"), weights);  // all pages have been read now
  const size_t before = resident_pages();
  page_out(loaded);
  page_out(model);  // in memory that no file stands behind: nothing is lost
  EXPECT_LE(resident_pages(), before);
  EXPECT_EQ(loaded.initializers.at("large"), weights);
  EXPECT_EQ(model.initializers.at("large").as<float>()[count - 1], 1.5F);
}

}  // namespace
}  // namespace quasar::graph
