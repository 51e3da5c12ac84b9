#include "quasar/graph/page_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "quasar/base/file.hpp"
#include "quasar/base/system/mapping.hpp"
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

// A file with a hole in the place of its bytes.
Tensor of_zeros(const TemporaryFolder& folder, int64_t count) {
  const auto path = folder.path() / "zeros";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, static_cast<size_t>(count) * sizeof(float));
  const auto mapping =
      std::make_shared<Mapping>(OpenFile(path, OpenFile::For::reading), static_cast<size_t>(count) * sizeof(float));
  return Tensor(DataType::float32, {count}, mapping, mapping->bytes().data());
}

TEST(PageOut, OneWeightLeavesALargeModelOnly) {
  const TemporaryFolder folder;
  Model model = small_model();
  const Tensor weight = of_zeros(folder, int64_t{16} << 20);
  model.initializers["weight"] = weight;
  EXPECT_FALSE(is_large(model));
  const auto read = [&] { return std::ranges::count(weight.as<float>(), 0.0F); };
  EXPECT_EQ(read(), int64_t{16} << 20);
  const size_t before = resident_pages();
  page_out(model, weight);
  EXPECT_GT(resident_pages() + 1000, before);
  model.initializers["rest"] = of_zeros(folder, int64_t{256} << 20);
  EXPECT_TRUE(is_large(model));
  page_out(model, weight);
  EXPECT_LE(resident_pages(), before);
  EXPECT_EQ(read(), int64_t{16} << 20);
}

TEST(PageOut, ScratchFilesKeepValues) {
  const Tensor codes = Tensor::of<uint8_t>({3, 2}, {1, 2, 3, 4, 5, 255});
  const Tensor kept = in_scratch_file(codes);
  EXPECT_EQ(kept, codes);
  EXPECT_NE(kept.bytes().data(), codes.bytes().data());
  EXPECT_EQ(in_scratch_file(Tensor::of<float>({0}, std::vector<float>())).count(), 0U);
}

}  // namespace
}  // namespace quasar::graph
