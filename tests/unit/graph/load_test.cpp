#include "quasar/graph/load.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/graph/files_of.hpp"
#include "small_models.hpp"
#include "unit/error_of.hpp"
#include "wire.hpp"

namespace quasar::graph {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using wire::attribute;
using wire::bytes;
using wire::initializer;
using wire::input;
using wire::model_with;
using wire::node;
using wire::number;
using wire::output;
using wire::tensor;

std::string raw(const std::string& data) {
  return bytes(9, data);
}

TEST(Load, AModelComesBackAsItWent) {
  const Model model = small_model();
  const Model back = from_bytes(to_bytes(model), "test");
  EXPECT_EQ(back.initializers, model.initializers);
  EXPECT_EQ(back.opsets, model.opsets);
  ASSERT_EQ(back.nodes.size(), 2);
  EXPECT_EQ(back.nodes[0].name, "conv");
  EXPECT_EQ(back.nodes[0].integers("kernel_shape"), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(back.inputs[0].symbols[0], "batch");
  EXPECT_EQ(back.inputs[0].shape, (Shape{-1, 3, 8, 8}));
  EXPECT_EQ(to_bytes(back), to_bytes(model));
}

TEST(Load, TensorsInEveryField) {
  struct Case {
    std::string content;
    Tensor expected;
  };
  const std::vector<Case> cases{
      {tensor(1, {2}, raw(std::string("\0\0\x80\x3f\0\0\0\x40", 8))), Tensor::of<float>({2}, {1, 2})},
      {tensor(1, {2}, wire::real(4, 1) + wire::real(4, 2)), Tensor::of<float>({2}, {1, 2})},
      {tensor(3, {2}, number(5, -3) + number(5, 4)), Tensor::of<int8_t>({2}, {-3, 4})},
      {tensor(2, {2}, number(5, 200) + number(5, 4)), Tensor::of<uint8_t>({2}, {200, 4})},
      {tensor(5, {1}, number(5, -300)), Tensor::of<int16_t>({1}, {-300})},
      {tensor(6, {1}, number(5, -70000)), Tensor::of<int32_t>({1}, {-70000})},
      {tensor(7, {}, number(7, -5)), Tensor::scalar<int64_t>(-5)},
      {tensor(12, {1}, number(11, 4000000000)), Tensor::of<uint32_t>({1}, {4000000000U})},
      {tensor(13, {1}, number(11, -1)), Tensor::of<uint64_t>({1}, {UINT64_MAX})},
      {tensor(9, {1}, number(5, 1)), Tensor::scalar(true).reshaped({1})},
      {tensor(10, {1}, number(5, 0x3C00)), converted(Tensor::of<float>({1}, {1}), DataType::float16)},
      {tensor(22, {3}, number(5, 0x78) + number(5, 0x0F)), converted(Tensor::of<float>({3}, {-8, 7, -1}), DataType::int4)},
      {tensor(8, {2}, bytes(6, "a") + bytes(6, "")), Tensor::strings({2}, {"a", ""})},
      {tensor(1, {0}, ""), Tensor::of({0}, std::vector<float>())},
  };
  for (const auto& [content, expected] : cases) {
    const Model model = from_bytes(model_with(initializer("w", content)), "test");
    EXPECT_EQ(model.initializers.at("w"), expected) << name_of(expected.type());
    EXPECT_EQ(from_bytes(to_bytes(model), "again").initializers.at("w"), expected) << name_of(expected.type());
  }
}

TEST(Load, ConstantNodesBecomeInitializers) {
  const std::vector<std::pair<std::string, Tensor>> cases{
      {attribute("value", 4, bytes(5, tensor(7, {1}, number(7, 3)))), Tensor::of<int64_t>({1}, {3})},
      {attribute("value_float", 1, wire::real(2, 1.5F)), Tensor::scalar(1.5F)},
      {attribute("value_floats", 6, wire::real(7, 1.5F)), Tensor::of<float>({1}, {1.5F})},
      {attribute("value_int", 2, number(3, 4)), Tensor::scalar<int64_t>(4)},
      {attribute("value_ints", 7, number(8, 4) + number(8, 5)), Tensor::of<int64_t>({2}, {4, 5})},
      {attribute("value_string", 3, bytes(4, "s")), Tensor::strings({}, {"s"})},
      {attribute("value_strings", 8, bytes(9, "s")), Tensor::strings({1}, {"s"})},
      {attribute("sparse_value", 11,
                 bytes(22, bytes(1, tensor(1, {1}, wire::real(4, 5))) + bytes(2, tensor(7, {1, 2}, number(7, 1) + number(7, 0))) +
                               number(3, 2) + number(3, 2))),
       Tensor::of<float>({2, 2}, {0, 0, 5, 0})},
  };
  for (const auto& [value, expected] : cases) {
    const Model model = from_bytes(model_with(node({"Constant", {}, {"w"}, value})), "test");
    EXPECT_EQ(model.initializers.at("w"), expected);
    EXPECT_EQ(model.nodes.size(), 1);
  }
}

TEST(Load, InitializersLeaveTheInputsAndSparseOnesBecomeDense) {
  const std::string sparse = bytes(
      15, bytes(1, bytes(8, "w") + tensor(1, {1}, wire::real(4, 7))) + bytes(2, tensor(7, {1}, number(7, 2))) + number(3, 3));
  EXPECT_EQ(from_bytes(model_with(sparse), "test").initializers.at("w"), Tensor::of<float>({3}, {0, 0, 7}));
  const Model model =
      from_bytes(wire::model(input("x") + input("w") + output("y") + initializer("w", tensor(1, {1}, wire::real(4, 1))) +
                                 node({"Add", {"x", "w"}, {"y"}}),
                             3, 7),
                 "test");
  EXPECT_EQ(model.inputs.size(), 1);
  EXPECT_EQ(model.ir_version, 4);  // the oldest that allows it
}

// ONNX Runtime crashes on the empty name.
TEST(Load, ABiasThatIsLeftOutByAnEmptyNameIsLeftOut) {
  const Model model = from_bytes(wire::model(input("x") + output("y") + initializer("scale", tensor(1, {1}, wire::real(4, 1))) +
                                             node({"LayerNormalization", {"x", "scale", ""}, {"y"}})),
                                 "test");
  EXPECT_EQ(model.nodes[0].inputs, (std::vector<std::string>{"x", "scale"}));
}

TEST(Load, NodesGetUniqueNamesAndTopologicalOrder) {
  const Model model = from_bytes(
      wire::model(input("x") + output("y") + node({"Relu", {"b"}, {"y"}}) + node({"Neg", {"x"}, {"a"}, wire::node_name("n")}) +
                  node({"Abs", {"a"}, {"b"}, wire::node_name("n")})),
      "test");
  ASSERT_EQ(model.nodes.size(), 3);
  EXPECT_EQ(model.nodes[0].name, "n");
  EXPECT_EQ(model.nodes[1].name, "n_1");
  EXPECT_EQ(model.nodes[2].name, "Relu_0");
}

// An If whose branch reads outer values, one of them two levels down.
TEST(Load, SubgraphsStayAndTheirCapturesAreListed) {
  const std::string innermost = node({"Add", {"x", "b"}, {"r"}}) + bytes(2, "innermost") + output("r");
  const std::string inner =
      node({"Neg", {"a"}, {"b"}}) + node({"If", {"c"}, {"s"}, attribute("then_branch", 5, bytes(6, innermost))}) + output("s");
  const std::string branch = attribute("then_branch", 5, bytes(6, inner));
  const Model model = from_bytes(
      wire::model(input("x") + input("c") + output("y") + node({"Relu", {"x"}, {"a"}}) + node({"If", {"c"}, {"y"}, branch})),
      "test");
  EXPECT_EQ(model.nodes[1].captures, (std::vector<std::string>{"a", "c", "x"}));
  EXPECT_NE(to_bytes(model).find(inner), std::string::npos);  // byte for byte
  EXPECT_EQ(Names(model).fresh("b"), "b_1");
  EXPECT_EQ(Names(model).fresh("r"), "r_1");
}

TEST(Load, WhatItDoesNotKnowSurvives) {
  const std::string node_fields =
      bytes(6, "about the node") + bytes(8, "overload") + bytes(9, bytes(1, "key") + bytes(2, "value"));
  const std::string odd_type = attribute("odd", 13, bytes(14, bytes(1, number(1, 1))));
  const std::string sequence =
      bytes(12, bytes(1, "y") + bytes(2, bytes(4, bytes(1, bytes(1, number(1, 1))))) + bytes(3, "about y"));
  const std::string file =
      wire::model(input("x") + sequence + bytes(10, "about the graph") + node({"Odd", {"x"}, {"y"}, node_fields + odd_type})) +
      bytes(2, "producer") + bytes(14, bytes(1, "k") + bytes(2, "v"));
  const Model model = from_bytes(file, "test");
  EXPECT_EQ(model.metadata.at("k"), "v");
  EXPECT_EQ(model.outputs[0].type, DataType::undefined);
  const std::string written = to_bytes(model);
  EXPECT_EQ(to_bytes(from_bytes(written, "again")), written);
  for (const std::string part : {"about the node", "overload", "key", "about the graph", "about y", "producer"}) {
    EXPECT_NE(written.find(part), std::string::npos) << part;
  }
  EXPECT_NE(written.find(odd_type.substr(2)), std::string::npos);
  EXPECT_NE(written.find(bytes(4, bytes(1, bytes(1, number(1, 1))))), std::string::npos);  // the sequence type
}

TEST(Load, BrokenFilesGiveOneClearError) {
  const std::string good = to_bytes(small_model());
  const std::string x = input("x") + output("y");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "is empty"},
      {"PK\x03\x04 not a model at all", "an archive, as .pt of PyTorch"},
      {std::string("\x20\0\0\0ORTM", 8) + std::string(40, 'x'), "ONNX Runtime's own format (.ort)"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0", "`git lfs pull`"},
      {"<!DOCTYPE html><html>not found</html>", "a web page"},
      {"hello, world", "not an ONNX"},
      {good.substr(0, good.size() / 2), "truncated"},
      {good.substr(0, good.size() - 1), "truncated"},
      {number(1, 8) + bytes(8, number(2, 13)), "no graph"},
      {wire::model(x, 2), "IR version 2"},
      {number(1, 8) + bytes(7, x), "no operator set"},
      {model_with(initializer("w", tensor(1, {2}, raw("1234")))),
       "initializer 'w': the data are 4 bytes, which does not fit [2] float32"},
      {model_with(initializer("w", tensor(1, {2}, wire::real(4, 1)))), "1 numbers"},
      {model_with(initializer("w", tensor(1, {-2}, raw("")))), "negative size"},
      {model_with(initializer("w", tensor(1, {int64_t{1} << 40, int64_t{1} << 40}, raw("")))),
       "more elements than any memory holds"},
      {model_with(initializer("w", tensor(1, {int64_t{1} << 40}, raw("1234")))), "does not fit"},
      {model_with(initializer("w", tensor(99, {1}, raw("1234")))), "data type 99"},
      {model_with(initializer("w", tensor(8, {2}, bytes(6, "a")))), "1 strings"},
      {model_with(initializer("w", tensor(1, {1}, raw("1234"))) + initializer("w", tensor(1, {1}, raw("1234")))),
       "two initializers"},
      {model_with(node({"Constant", {}, {"w"}})), "exactly one value"},
      {model_with(node({"Constant", {}, {"w"}, attribute("value", 4, "")})), "data type 0"},
      {model_with(""), "reads 'w', which is neither"},
      {wire::model(x + node({"Neg", {"x"}, {"y"}}) + node({"Abs", {"x"}, {"y"}})), "'y' is defined twice"},
      {wire::model(x + node({"Neg", {"a"}, {"y"}}) + node({"Abs", {"y"}, {"a"}})), "cycle"},
      {wire::model(x), "graph output 'y' is not produced"},
      {model_with(node({"Neg", {"x"}, {std::string("w\0z", 3)}})), "the value 'w\\x00z' has a zero byte"},
      {model_with(initializer("w", tensor(1, {1}, wire::external("w.bin")))), "can only be read for a model that is a file"},
  };
  for (const auto& [file, says] : cases) {
    const std::string message = error_of([&file = file] { from_bytes(file, "broken.onnx"); });
    EXPECT_NE(message.find(says), std::string::npos) << says << " | " << message;
    EXPECT_EQ(message.find("broken.onnx") == std::string::npos, false) << message;
  }
  EXPECT_NE(error_of([] { load("/nowhere/model.onnx"); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_of([] { load(fs::temp_directory_path()); }).find("folder"), std::string::npos);
}

TEST(Load, EveryTruncationIsAnErrorOrAModel) {
  const std::string good = to_bytes(small_model());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(error_of([&] { from_bytes(good.substr(0, size), "cut"); }), "no error") << size;
  }
}

TEST(External, WrittenAndReadBack) {
  const TemporaryFolder folder;
  Model model = small_model();
  model.initializers["w"] = Tensor::of({4, 3, 3, 30}, std::vector<float>(1080, 0.5F));
  model.initializers["v"] = Tensor::of({300}, std::vector<double>(300, 0.25));
  const fs::path path = folder.path() / "model.onnx";
  save(model, path, ExternalData::always);
  EXPECT_EQ(fs::file_size(folder.path() / "model.onnx.data"), 4096 + 4320);  // 'v' takes 2400 bytes, 'w' starts on the next page
  EXPECT_LT(fs::file_size(path), 1024);
  const Model back = load(path);
  EXPECT_EQ(back.initializers, model.initializers);
  save(back, path, ExternalData::always);  // over the file that is mapped
  EXPECT_EQ(load(path).initializers, model.initializers);
  EXPECT_EQ(back.initializers, model.initializers);
  save(back, path);
  EXPECT_EQ(load(path).initializers, model.initializers);
}

TEST(External, UnalignedOffsetsAndSubgraphs) {
  const TemporaryFolder folder;
  write_file(folder.path() / "w.bin", std::string("?\0\0\x80\x3f", 5));
  const std::string content = tensor(1, {1}, wire::external("w.bin", wire::entry("offset", "1") + wire::entry("length", "4")));
  write_file(folder.path() / "m.onnx", model_with(initializer("w", content)));
  EXPECT_EQ(load(folder.path() / "m.onnx").initializers.at("w"), Tensor::of<float>({1}, {1}));

  const std::string branch = initializer("inner", content) + output("inner");
  const std::string file =
      wire::model(input("x") + output("y") + node({"If", {"x"}, {"y"}, attribute("then_branch", 5, bytes(6, branch))}));
  const Model model = from_bytes(file, "test", folder.path());
  EXPECT_EQ(to_bytes(model).find("w.bin"), std::string::npos);
  EXPECT_NE(to_bytes(model).find(raw(std::string("\0\0\x80\x3f", 4))), std::string::npos);
}

TEST(External, FilesAreKnownWithoutLoadingTheModel) {
  const TemporaryFolder folder;
  const auto files = [&](const std::string& bytes) {
    write_file(folder.path() / "m.onnx", bytes);
    std::string out;
    for (const auto& [location, path] : external_files_of(folder.path() / "m.onnx")) {
      EXPECT_EQ(path, fs::canonical(folder.path()) / location);
      out += location + " ";
    }
    return out;
  };
  const auto lies_in = [](const std::string& location) { return tensor(1, {1}, wire::external(location)); };
  const std::string branch = bytes(6, initializer("inner", lies_in("v.bin")) + output("inner"));
  const std::string whole =
      wire::model(input("x") + output("y") + initializer("big", tensor(1, {9000}, raw(std::string(36000, 'x')))) +
                  initializer("w", lies_in("w.bin")) + initializer("z", lies_in("w.bin")) +
                  initializer("here", tensor(1, {1}, wire::entry("location", "none.bin"))) +
                  node({"If", {"x"}, {"y"}, attribute("then_branch", 5, branch)}) +
                  node({"Custom", {"x"}, {"c"}, attribute("table", 4, bytes(5, lies_in("t.bin")))}));
  EXPECT_EQ(files(whole), "t.bin v.bin w.bin ");
  EXPECT_EQ(files(model_with(initializer("w", tensor(1, {1}, raw("1234"))))), "");
  for (const size_t size : {size_t{1}, whole.size() / 2, whole.size() - 1}) EXPECT_NO_THROW(files(whole.substr(0, size)));
  EXPECT_EQ(files("this is a text, not a model"), "");
  EXPECT_NE(test::error_of([&] { files(model_with(initializer("w", lies_in("../secret")))); }).find("without '..'"),
            std::string::npos);
  EXPECT_NE(test::error_of([&] { external_files_of(folder.path() / "none.onnx"); }).find("none.onnx"), std::string::npos);
}

TEST(External, WhatCannotBeWrittenIsNamedAsTheUserDoes) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "missing" / "m.onnx";
  const std::string reason = "': No such file or directory";
  EXPECT_EQ(error_of([&] { save(small_model(), path); }), "cannot write '" + path.string() + reason);
  EXPECT_EQ(error_of([&] { save(small_model(), path, ExternalData::always); }),
            "cannot write '" + path.string() + ".data" + reason);
}

TEST(External, TheSizeOfAModelIsThatOfAllItsFiles) {
  const TemporaryFolder folder;
  const fs::path model = folder.path() / "m.onnx", weights = folder.path() / "w.bin";
  write_file(weights, std::string(5000, '\0'));
  const auto lies_in = [](const std::string& location) {
    return tensor(1, {1}, wire::external(location, wire::entry("length", "4")));
  };
  write_file(model, model_with(initializer("w", lies_in("w.bin")) + initializer("z", lies_in("./w.bin"))));
  EXPECT_EQ(bytes_on_disk(model), fs::file_size(model) + 5000);
  fs::create_symlink(model, folder.path() / "link.onnx");
  EXPECT_EQ(bytes_on_disk(folder.path() / "link.onnx"), fs::file_size(model) + 5000);
  fs::remove(weights);
  EXPECT_NE(error_of([&] { bytes_on_disk(model); }).find("w.bin': No such file"), std::string::npos);
  write_file(model, model_with(initializer("w", tensor(1, {1}, raw("1234")))));
  EXPECT_EQ(bytes_on_disk(model), fs::file_size(model));
}

TEST(External, LeavingTheFolderOrTheFileIsAnError) {
  const TemporaryFolder folder;
  const fs::path inside = folder.path() / "model";
  fs::create_directory(inside);
  write_file(folder.path() / "secret", "1234");
  write_file(inside / "w.bin", "1234");
  fs::create_symlink(folder.path() / "secret", inside / "link");
  const auto length = [](const std::string& text) { return wire::entry("length", text); };
  const std::vector<std::pair<std::string, std::string>> cases{
      {wire::external("w.bin"), "no error"},
      {wire::external("../secret"), "without '..'"},
      {wire::external((folder.path() / "secret").string()), "relative"},
      {wire::external("link"), "link out of the model's folder"},
      {wire::external(""), "relative"},
      {wire::external("none.bin"), "No such file"},
      {wire::external("."), "not a file"},
      {wire::external("w.bin", length("3")), "is said to hold 3"},
      {wire::external("w.bin", wire::entry("offset", "1")), "too few"},
      {wire::external("w.bin", wire::entry("offset", "18446744073709551615")), "too few"},
      {wire::external("w.bin", wire::entry("offset", "-1")), "not a number"},
  };
  for (const auto& [place, says] : cases) {
    write_file(inside / "m.onnx", model_with(initializer("w", tensor(1, {1}, place))));
    const std::string message = error_of([&] { load(inside / "m.onnx"); });
    EXPECT_NE(message.find(says), std::string::npos) << says << " | " << message;
  }
}

TEST(Save, RefusesMoreThanTwoGigabytes) {
  Model model = small_model();
  const auto nothing = std::make_shared<int>(0);  // the bytes are never looked at
  model.initializers["w"] = Tensor(DataType::float32, {1 << 30}, nothing, nothing.get());
  EXPECT_NE(error_of([&] { to_bytes(model); }).find("2 GB"), std::string::npos);
}

TEST(Save, FailureLeavesNoFile) {
  EXPECT_NE(error_of([] { save(small_model(), "/nowhere/model.onnx"); }).find("/nowhere/model.onnx"), std::string::npos);
}

TEST(Load, SharedModelsComeBackAsTheyWent) {
  const char* given = std::getenv("QUASAR_SHARED");
  const fs::path models = fs::path(given != nullptr ? given : QUASAR_SOURCE_DIR "/../shared") / "data" / "models";
  if (!fs::exists(models)) GTEST_SKIP() << "no shared models";
  for (const auto& file : fs::directory_iterator(models)) {
    if (file.path().extension() != ".onnx") continue;
    const Model model = load(file.path());
    const std::string written = to_bytes(model);
    const Model back = from_bytes(written, "again");
    EXPECT_EQ(back.initializers, model.initializers);
    EXPECT_EQ(to_bytes(back), written) << file.path();
    EXPECT_EQ(obstacle(model), "");
  }
}

}  // namespace
}  // namespace quasar::graph
