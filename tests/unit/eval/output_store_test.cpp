#include "quasar/eval/output_store.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/parallel.hpp"

namespace quasar::eval {
namespace {

TEST(OutputStore, KeepsEverySampleInMemoryOrFile) {
  const TemporaryFolder folder;
  for (const size_t limit : {size_t{0}, size_t{5000}, size_t{1} << 30}) {
    OutputStore store(100, limit, folder.path() / "new");
    parallel_for(100, 4, [&](size_t i) { store.put(i, std::vector<float>(i + 1, static_cast<float>(i))); });
    store.finish();
    EXPECT_EQ(store.spilled(), limit < 20000);
    for (size_t i = 0; i < 100; ++i) {
      const auto values = store.get(i);
      EXPECT_EQ(std::vector<float>(values.begin(), values.end()), std::vector<float>(i + 1, static_cast<float>(i)));
    }
    if (store.spilled()) {  // nothing is left behind
      EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "new"));
    }
  }
}

TEST(OutputStore, NamesAFolderThatCannotBeUsed) {
  OutputStore store(1, 0, "/proc/none");
  try {
    store.put(0, std::vector<float>{1});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("/proc/none"), std::string::npos);
    EXPECT_EQ(e.blame(), Blame::setup);
  }
}

}  // namespace
}  // namespace quasar::eval
