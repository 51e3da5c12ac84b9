#include "quasar/trial/variant.hpp"

#include <algorithm>

#include "quasar/base/hash.hpp"
#include "quasar/graph/bodies.hpp"

namespace quasar::tune {
namespace {

// What nodes became, step after step.
void note_successors(const std::map<std::string, std::set<std::string>>& latest,
                     std::map<std::string, std::set<std::string>>& all) {
  for (auto& [name, nodes] : all) {
    const std::set<std::string> before = nodes;
    for (const auto& node : before) {
      const auto next = latest.find(node);
      if (next == latest.end()) continue;
      nodes.erase(node);
      nodes.insert(next->second.begin(), next->second.end());
    }
  }
  for (const auto& [name, nodes] : latest) all.try_emplace(name, nodes);
}

std::map<std::string, int> without(std::map<std::string, int> axes, const std::set<std::string>& values) {
  std::erase_if(axes, [&](const auto& axis) { return values.contains(axis.first); });
  return axes;
}

// Applies one transform after the other.
class Transforming {
 public:
  Transforming(const Variant& from, const quant::Config& config, const TransformMeans& means)
      : from_(from), config_(config), means_(means) {
    out->model = from.model;
    out->digest = from.digest;
  }

  void apply(const quant::TransformUse& use) {
    const auto transform = quant::transforms::table().make(use.name, use.options);
    const bool corrects = transform->corrects_plan();
    quant::Transformed result =
        transform->rewrite(out->model, corrects ? stats::ChannelStatistics{} : observed(*transform, use.options));
    for (auto& note : result.notes) {
      tell(means_.log, Level::info, note);
      out->notes.push_back(std::move(note));
    }
    if (result.changes > 0) {
      changes_ += result.changes;
      out->model = std::move(result.model);
      graph::place_in_bodies(out->model);  // the next one looks at its values
      changed.merge(result.values);
      out->in_float.merge(result.in_float);
      note_successors(result.became, out->became);
    }
    if (!corrects) return;
    out->corrections.push_back(use);
    for (auto& [name, channels] : observed(*transform, use.options)) out->channels.insert_or_assign(name, std::move(channels));
  }

  void finish() {
    if (changes_ == 0) return;
    graph::verify(out->model, "the transforms");
    out->digest = digest_of(out->model, means_.prepared);
  }

  std::shared_ptr<Variant> out = std::make_shared<Variant>();
  std::set<std::string> changed;  // values

 private:
  // What the transform must know of channels: as it was observed of the graph before, where it is the same still.
  stats::ChannelStatistics observed(const quant::Transform& transform, const Json& options) const {
    auto axes = transform.needs(out->model);
    if (axes.empty()) return {};
    size_t samples = std::min(config_.calib_data_size.value_or(means_.samples.size()), means_.samples.size());
    if (const Json own = options.value("data_size", Json()); own.is_number()) samples = std::min(samples, own.get<size_t>());
    stats::ChannelStatistics known;
    if (transform.product_block() == 0) known = from_.calibration->channels(without(axes, changed), samples);
    std::erase_if(axes, [&](const auto& value) { return known.contains(value.first); });
    if (axes.empty()) return known;
    known.merge(stats::collect_channels(out->model, means_.samples, axes,
                                        {.samples = samples, .threads = means_.threads, .block = transform.product_block()}));
    return known;
  }

  const Variant& from_;
  const quant::Config& config_;
  const TransformMeans& means_;
  size_t changes_ = 0;
};

}  // namespace

std::string digest_of(const graph::Model& model, const graph::Model& prepared) {
  Json facts = Json::array();
  for (const auto& node : model.nodes) facts.push_back({node.name, node.op_type, node.inputs, node.outputs});
  for (const auto& [name, tensor] : model.initializers) {
    const Tensor* before = prepared.initializer(name);
    if (before != nullptr && (before->bytes().data() == tensor.bytes().data() || *before == tensor)) continue;
    facts.push_back({name, tensor.shape(), hash_of(tensor.bytes())});
  }
  return hash_of(std::string_view(facts.dump()));
}

std::pair<std::shared_ptr<Variant>, std::set<std::string>> transformed(const Variant& from, const quant::Config& config,
                                                                       const TransformMeans& means) {
  Transforming work(from, config, means);
  for (const auto& use : config.transforms) work.apply(use);
  work.finish();
  return {std::move(work.out), std::move(work.changed)};
}

}  // namespace quasar::tune
