// Several models as one job: the recognizer of examples/pipeline, and what is said about wrong descriptions.

#include <gtest/gtest.h>

#include "e2e/search_job.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::e2e {
namespace {

std::string recognizer(const std::string& file) {
  return std::string(QUASAR_SOURCE_DIR "/examples/pipeline/") + file;
}

const std::string connected = "{encoder_hidden_states: encoder.last_hidden_state}";

std::string models(const std::string& inputs = connected) {
  return "models:\n  encoder: {path: " + recognizer("encoder_model.onnx") +
         "}\n  decoder: {path: " + recognizer("decoder_model.onnx") + ", inputs: " + inputs + "}\n";
}

std::string pipeline(const std::string& space, const std::string& more = "") {
  return models() + "calib_data_reader: {reader: npz, path: " + recognizer("calibration.npz") +
         ", labels: labels}\neval_data_reader: {reader: npz, path: " + recognizer("evaluation.npz") +
         ", labels: labels}\nsearch_metric: [token_accuracy, relative]\nsearch_algo: Grid\nsearch_space:\n" + space + more;
}

using Values = std::map<std::string, Tensor>;

// By the names of its inputs, which may be more than it has.
Values outputs_of(const runtime::Session& session, const Values& given) {
  std::vector<Tensor> inputs;
  for (const auto& input : session.inputs()) inputs.push_back(given.at(input.name));
  const std::vector<Tensor> values = session.run(inputs);
  Values out;
  for (size_t i = 0; i < values.size(); ++i) out[session.outputs()[i].name] = values[i];
  return out;
}

// Whether the models of the folder give, one after the other, what the joined model does, bit by bit.
void expect_equal(const fs::path& joined, const fs::path& folder) {
  const runtime::Session whole(graph::load(joined)), encoder(graph::load(folder / "encoder_model.onnx")),
      decoder(graph::load(folder / "decoder_model.onnx"));
  const auto samples =
      data::open({{"reader", "npz"}, {"path", recognizer("evaluation.npz")}, {"labels", "labels"}}, whole.inputs());
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<Tensor> sample = samples->at(i);
    Values values;
    for (size_t k = 0; k < sample.size(); ++k) values[whole.inputs()[k].name] = sample[k];
    const Values expected = outputs_of(whole, values);
    const Values states = outputs_of(encoder, values);
    values["encoder_hidden_states"] = states.at("last_hidden_state");
    const Values last = outputs_of(decoder, values);
    EXPECT_TRUE(states.at("last_hidden_state") == expected.at("last_hidden_state")) << joined;
    EXPECT_TRUE(last.at("logits") == expected.at("logits")) << joined;
  }
}

using Pipelines = Search;

TEST_F(Pipelines, ASearchChoosesForEachModelAndWritesEach) {
  const Ran ran =
      search(pipeline("  models:\n    encoder: [U8S8_CHANNEL, DYNAMIC, Float32Spec]\n    decoder: [W4, W8, null]\n"
                      "  scheme: [DYNAMIC]\n"));
  ASSERT_LE(ran.code, 2) << ran.err;
  const Json best = result()["best"];
  EXPECT_TRUE(best["params"].contains("models_encoder"));
  ASSERT_EQ(best["models"].size(), 2u);
  EXPECT_EQ(best["models"][1]["name"], "decoder");
  EXPECT_EQ(best["models"][1]["file"], "best/decoder_model.onnx");
  size_t quantized = 0;
  for (const Json& model : best["models"]) {
    quantized += model["operators"]["quantized"].get<size_t>();
    EXPECT_EQ(model["bytes"], fs::file_size(out / model["file"].get<std::string>()));
    EXPECT_LT(model["bytes"], model["float_bytes"].get<double>() * 1.3);
  }
  EXPECT_EQ(quantized, best["operators"]["quantized"]);
  expect_equal(out / "best.onnx", out / "best");
  EXPECT_NE(ran.out.find("best/encoder_model.onnx: "), std::string::npos) << ran.out;
  const Ran told = run("report " + out.string() + " --format markdown");
  EXPECT_NE(told.out.find("| decoder | best/decoder\\_model.onnx |"), std::string::npos) << told.out << told.err;
  // The same model again, of the joined one that the search left.
  const fs::path again = folder.path() / "again.onnx";
  const Ran made = run("quantize --from-study " + out.string() + " -o " + again.string());
  ASSERT_EQ(made.code, 0) << made.err;
  expect_equal(again, folder.path() / "again");
  EXPECT_TRUE(read_file(again) == read_file(out / "best.onnx"));
  // It goes on where it was.
  const Ran resumed = search(read_file(config), "--resume");
  EXPECT_LE(resumed.code, 2) << resumed.err;
  EXPECT_TRUE(fs::exists(out / "best/decoder_model.onnx"));
  // Other models are refused, and what the study needs stays.
  graph::Model other = graph::load(recognizer("encoder_model.onnx"));
  for (auto& [name, tensor] : other.initializers) {
    if (tensor.type() == DataType::float32) tensor = Tensor::of(tensor.shape(), std::vector<float>(tensor.count(), 0.1F));
  }
  graph::save(other, folder.path() / "encoder_model.onnx");
  const std::string changed =
      with(read_file(config), recognizer("encoder_model.onnx"), (folder.path() / "encoder_model.onnx").string());
  const Ran refused = search(changed, "--resume");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("are not those of the study"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(out / "pipeline.new"));
  EXPECT_EQ(run("quantize --from-study " + out.string() + " -o " + again.string()).code, 0);
}

TEST_F(Pipelines, PiecesGiveTheJoinedModelsOutputsBitByBit) {
  write_file(config, models());
  for (const std::string scheme : {"U8S8_CHANNEL", "A8W8_CHANNEL", "DYNAMIC", "W4", "XINT8", "A16W8"}) {
    const fs::path file = folder.path() / (scheme + ".onnx");
    const Ran ran = run("quantize " + config.string() + " -o " + file.string() + " --scheme " + scheme + " --calib " +
                        recognizer("calibration.npz"));
    ASSERT_EQ(ran.code, 0) << ran.err;
    expect_equal(file, folder.path() / scheme);
  }
  const fs::path file = folder.path() / "operators.onnx";
  const Ran ran = run("quantize " + config.string() + " -o " + file.string() +
                      " --scheme U8S8_CHANNEL --quant-format QOperator --calib " + recognizer("calibration.npz"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_equal(file, folder.path() / "operators");
}

TEST_F(Pipelines, ThreeModelsWithCaches) {
  write_file(config, models("{encoder_hidden_states: encoder.last_hidden_state}") +
                         "  next: {path: " + recognizer("decoder_with_past_model.onnx") + ", inputs: " + connected + "}\n");
  const Ran ran = run("inspect " + config.string() + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json facts = parse_json(ran.out, "inspect");
  EXPECT_EQ(facts["models"][2]["inputs"]["encoder_hidden_states"], "encoder.last_hidden_state");
  EXPECT_EQ(facts["models"][2]["inputs"]["past_key_values.0.key"], "input past_key_values.0.key");
  // Weights of both decoders are stored once.
  const graph::Model one = graph::load(recognizer("decoder_model.onnx"));
  EXPECT_LT(facts["parameters"].get<size_t>(), 100000u);
}

TEST_F(Pipelines, WhatIsWrongIsSaidByItsKey) {
  const auto says = [&](const std::string& text, const std::string& message) {
    const Ran ran = search(text);
    EXPECT_EQ(ran.code, 1) << text;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(out / "result.json"));
  };
  const std::string space = "  models: {decoder: [W4]}\n", whole = pipeline(space);
  says(whole + "model_input: m.onnx\n", "model_input and models are given; keep one of them");
  says(with(whole, "encoder.last_hidden_state", "encoder.last_hiden_state"),
       "models.decoder.inputs.encoder_hidden_states is 'encoder.last_hiden_state', but 'encoder' has no output "
       "'last_hiden_state'; did "
       "you mean 'last_hidden_state'?");
  says(with(whole, "path: " + recognizer("encoder_model.onnx"), "file: x.onnx"), "unknown key 'models.encoder.file'");
  says(with(whole, recognizer("encoder_model.onnx"), "none.onnx"), "cannot open model");
  says(with(whole, "{decoder: [W4]}", "{decodr: [W4]}"), "models: the pipeline has no model 'decodr'; did you mean 'decoder'?");
  says(with(whole, "{decoder: [W4]}", "{decoder: [K_QUANT_MIXED]}"),
       "models.decoder: scheme K_QUANT_MIXED says layer_kinds, which holds for no single model");
  says(with(whole, "[W4]", "[{scheme: W4, grop: 3}]"), "unknown key 'models.decoder.grop'");
  says(with(words("  models: {decoder: [W4]}\n"), "Grid", "Grid"),
       "models: the model is no pipeline, and has no model 'decoder'");
  // An input that no model gives and no sample holds.
  says(with(whole, "{encoder_hidden_states: encoder.last_hidden_state}", "{encoder_hidden_states: null}"),
       "encoder_hidden_states");
}

TEST_F(Pipelines, AModelIsNotWrittenOverOneThatIsRead) {
  fs::create_directories(out / "best");
  fs::copy_file(recognizer("encoder_model.onnx"), out / "best/encoder_model.onnx");
  const Ran ran = search(with(pipeline("  models: {decoder: [W4]}\n"), recognizer("encoder_model.onnx"),
                              (out / "best/encoder_model.onnx").string()));
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("the float model"), std::string::npos) << ran.err;
  write_file(config, with(models(), recognizer("encoder_model.onnx"), (out / "best/encoder_model.onnx").string()));
  const Ran quantized = run("quantize " + config.string() + " --scheme W4 -o " + (out / "best.onnx").string());
  EXPECT_EQ(quantized.code, 1);
  EXPECT_NE(quantized.err.find("the float model"), std::string::npos) << quantized.err;
}

TEST_F(Pipelines, ADryRunWritesNothing) {
  const Ran ran = search(pipeline("  models: {decoder: [W4, W8]}\n"), "--dry-run");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace quasar::e2e
