// The key `models`: several models that run one after the other, in place of model_input.
//   models:
//     encoder: {path: encoder_model.onnx}
//     decoder: {path: decoder_model.onnx, inputs: {encoder_hidden_states: encoder.last_hidden_state}}
// What connects them by default, and what `inputs` may say: graph/pipeline/pipeline.hpp.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

// The models' files, in their order. Throws Error for words that are no such mapping.
std::vector<std::filesystem::path> files_of_models(const Json& words, const std::filesystem::path& base);

// The models as one (graph::join). Relative paths start from `base`. Throws Error as files_of_models(), graph::load() and
// graph::join() do.
graph::Model joined_models(const Json& words, const std::filesystem::path& base);

// The same with the paths absolute, as they are from `folder`.
Json with_rooted_models(Json words, const std::filesystem::path& folder);

// A model where commands take one: an ONNX file, or a configuration file (.yaml, .yml, .json) with the key `models`, whose models
// are joined.
struct GivenModel {
  graph::Model model;
  std::vector<std::filesystem::path> files;
  uintmax_t bytes = 0;  // on disk, external data included
};
GivenModel given_model(const std::filesystem::path& file);

// The float model beside which a model is judged: as given_model(), or the float32 model that quantization starts from where the
// file's is in 16-bit floating point and the model's inputs are not.
graph::Model reference_for(const graph::Model& model, const std::filesystem::path& file);

// The files of which a model where commands take one is made; those that cannot be read are left out.
std::vector<std::filesystem::path> files_of_given(const std::filesystem::path& file);

// The names of the files into which what is made of such a configuration is split (graph::files_of); none for one model.
std::vector<std::string> piece_files_of_given(const std::filesystem::path& file);

}  // namespace quasar::tune
