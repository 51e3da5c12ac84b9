#include "quasar/tune/pieces.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/graph/skeleton.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

size_t weights_in(const graph::Model& model) {
  size_t count = 0;
  for (const auto& [name, tensor] : model.initializers) count += tensor.count();
  return count;
}

fs::path folder_beside(const fs::path& file) {
  return file.parent_path() / file.stem();
}

}  // namespace

std::vector<fs::path> save_pieces(const graph::Model& joined, const fs::path& folder, graph::ExternalData external) {
  const std::vector<graph::Piece> pieces = graph::split(joined);
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    throw Error("cannot make the folder '" + folder.string() + "' for the models of the pipeline: " + code.message(),
                blame_of_writing(code.value()));
  std::vector<fs::path> out;
  for (const auto& piece : pieces) {
    out.push_back(folder / piece.file);
    graph::save(piece.model, out.back(), external);
  }
  return out;
}

std::vector<PieceFacts> write_pieces(const graph::Model& float_model, const graph::Model& model, const fs::path& file,
                                     graph::ExternalData external) {
  std::vector<PieceFacts> out;
  if (!graph::pipeline_of(model)) return out;
  const fs::path folder = folder_beside(file);
  const std::vector<fs::path> files = save_pieces(model, folder, external);
  const std::vector<graph::Piece> before = graph::split(float_model);
  for (size_t i = 0; i < files.size(); ++i) {
    PieceFacts facts{.name = before[i].name, .file = (folder.filename() / files[i].filename()).string()};
    facts.bytes = graph::bytes_on_disk(files[i]);
    facts.float_bytes = graph::saved_bytes(before[i].model);
    if (const size_t weights = weights_in(before[i].model); weights > 0)
      facts.bits = 8.0 * static_cast<double>(facts.bytes) / static_cast<double>(weights);
    out.push_back(std::move(facts));
  }
  return out;
}

std::vector<fs::path> files_of_pieces(const graph::Model& joined, const fs::path& file) {
  std::vector<fs::path> out;
  if (!graph::pipeline_of(joined)) return out;
  for (const auto& piece : graph::split(joined)) out.push_back(folder_beside(file) / piece.file);
  return out;
}

void count_operators(std::vector<PieceFacts>& pieces, const graph::Model& joined, const quant::Plan& plan,
                     const std::map<std::string, bool>& runs) {
  const auto pipeline = graph::pipeline_of(joined);
  if (!pipeline) return;
  const auto count = [&](const std::string& node, bool in_integers) {
    const auto piece = std::ranges::find(pieces, graph::part_of_node(node, *pipeline), &PieceFacts::name);
    if (piece != pieces.end()) (in_integers ? piece->quantized_nodes : piece->float_nodes)++;
  };
  for (const auto& [node, in_integers] : runs) count(node, in_integers);
  for (const auto& [node, why] : plan.skipped) count(node, false);
}

std::vector<std::string> files_of(const std::vector<PieceFacts>& pieces) {
  std::vector<std::string> out;
  for (const auto& piece : pieces) out.push_back(piece.file);
  return out;
}

Json to_json(const std::vector<PieceFacts>& pieces) {
  Json out = Json::array();
  for (const auto& piece : pieces) {
    out.push_back({{"name", piece.name},
                   {"file", piece.file},
                   {"bytes", piece.bytes},
                   {"float_bytes", piece.float_bytes},
                   {"bits", piece.bits},
                   {"operators", {{"quantized", piece.quantized_nodes}, {"float", piece.float_nodes}}}});
  }
  return out;
}

}  // namespace quasar::tune
