// Names of operations in a library, and the nodes that they stand for.
#include "quasar/runtime/judged_nodes.hpp"

#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/runtime/openvino_judge.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::runtime {
namespace {

TEST(JudgedNodes, AreKnownByTheirNamesAndWhatOpenVinoAppends) {
  for (const char* one : {"a/conv", "a/conv/WithoutBiases", "a/conv/WithoutBiases/DequantizationMultiply"})
    EXPECT_TRUE(stands_for(one, "a/conv")) << one;
  for (const char* one : {"a/conv2", "a/conv/out", "a", "a/conv/WithoutBiases/x"}) EXPECT_FALSE(stands_for(one, "a/conv")) << one;
}

// A process that says what its operations compute in.
constexpr const char* telling = R"(while read -r line; do
  case $line in
    *'"nodes"'*) echo '{"computes":[["a/WithoutBiases","i8"],["a","f32"],["ab","f32"],["b",""],["c/WithoutBiases","u8"]]}' ;;
    *) echo '{"library":"Fake","version":"1","device":"shell"}' ;;
  esac
done)";

TEST(JudgedNodes, RunQuantizedWhereAllTheirOperationsDo) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "judge.sh";
  write_file(file, telling);
  openvino::judge_by({"/bin/sh", file.string()});
  const auto found = runs_quantized_in({.library = Library::openvino}, test::relu_times_two(), {"a", "ab", "b", "c", "gone"});
  openvino::judge_by({});
  EXPECT_EQ(found, (std::map<std::string, bool>{{"a", false}, {"ab", false}, {"b", true}, {"c", true}, {"gone", true}}));
}

}  // namespace
}  // namespace quasar::runtime
