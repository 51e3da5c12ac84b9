// The models of a quantized pipeline, as files of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

struct PieceFacts {
  std::string name, file;                       // "decoder", "best/decoder_model.onnx": from the joined model's folder
  uintmax_t bytes = 0, float_bytes = 0;         // of its file, and of the float model
  size_t quantized_nodes = 0, float_nodes = 0;  // of those that the target could quantize
  double bits = 0;                              // of the file, for each weight of the float model
};

// Writes the models of the quantized `model`, in the order in which they run, into the folder beside `file` that has its name
// without the extension: best.onnx, best/encoder_model.onnx. Nothing is written, and the result empty, where it is no pipeline.
// Throws Error as graph::split() and graph::save() do.
std::vector<PieceFacts> write_pieces(const graph::Model& float_model, const graph::Model& model,
                                     const std::filesystem::path& file, graph::ExternalData external);

// Writes the models of a joined one into a folder, which is made. -> their files, in the order in which they run. Throws Error as
// graph::split() and graph::save() do.
std::vector<std::filesystem::path> save_pieces(const graph::Model& joined, const std::filesystem::path& folder,
                                               graph::ExternalData external = graph::ExternalData::when_needed);

// Where they would be written.
std::vector<std::filesystem::path> files_of_pieces(const graph::Model& joined, const std::filesystem::path& file);

// Adds what became of the plan's operators. `runs`: of those that are planned in integers, whether they run so.
void count_operators(std::vector<PieceFacts>& pieces, const graph::Model& joined, const quant::Plan& plan,
                     const std::map<std::string, bool>& runs);

std::vector<std::string> files_of(const std::vector<PieceFacts>& pieces);
Json to_json(const std::vector<PieceFacts>& pieces);

}  // namespace quasar::tune
