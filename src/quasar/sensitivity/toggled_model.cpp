#include "quasar/sensitivity/toggled_model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "quasar/graph/bodies.hpp"

namespace quasar::tune {

// A model whose session is made when it runs first: then the types of its inputs are known.
class LateSession {
 public:
  explicit LateSession(graph::Model model) : model_(std::move(model)) {}

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    open(inputs);
    return session_->run(inputs);
  }

 private:
  // Sizes stay open: other samples may have others. Pairs stay as they are: what is between them computes in float.
  // No std::call_once: under the thread sanitizer it waits for ever after a call that threw.
  void open(const std::vector<Tensor>& inputs) const {
    const std::lock_guard lock(opening_);
    if (session_ != nullptr) return;
    for (size_t i = 0; i < inputs.size(); i++) {
      model_.inputs[i].type = inputs[i].type();
      model_.inputs[i].shape = Shape(inputs[i].shape().size(), -1);
    }
    session_ = std::make_unique<runtime::Session>(model_, runtime::SessionOptions{.arena = false, .integer_kernels = false});
    model_ = {};
  }

  mutable graph::Model model_;
  mutable std::mutex opening_;
  mutable std::unique_ptr<runtime::Session> session_;
};

namespace {

// What goes wrong in the pieces is told apart from other errors.
template <class Work>
auto guarded(Work work) {
  try {
    return work();
  } catch (const ToggledModelFailed&) {
    throw;
  } catch (const Error& e) {
    if (e.blame() != quasar::Blame::user) throw;  // a disk that cannot be read says nothing of the model
    throw ToggledModelFailed(e);
  }
}

void add_squares(const Tensor& exact, const Tensor& rounded, ToggledModel::Local& to) {
  if (exact.type() != DataType::float32 || rounded.type() != DataType::float32) return;
  const auto y = exact.as<float>(), q = rounded.as<float>();
  for (size_t i = 0; i < y.size() && i < q.size(); i++) {
    const double difference = static_cast<double>(y[i]) - static_cast<double>(q[i]);
    to.noise += difference * difference;
    to.signal += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  to.size += static_cast<double>(y.size());
}

}  // namespace

struct ToggledModel::Part {
  Part(Piece piece) : unit(piece.unit), exact(std::move(piece.exact)) {
    for (auto& model : piece.quantized) quantized.push_back(model ? std::make_unique<LateSession>(std::move(*model)) : nullptr);
  }

  std::vector<Tensor> run(const std::vector<Tensor>& values, size_t level) const {
    std::vector<Tensor> given;
    for (const size_t input : inputs) given.push_back(values[input]);
    return (level == 0 || quantized[level - 1] == nullptr ? exact : *quantized[level - 1]).run(given);
  }

  std::optional<size_t> unit;
  std::vector<size_t> inputs, outputs;  // numbers of values
  std::vector<size_t> last;             // values that no later piece reads
  LateSession exact;
  std::vector<std::unique_ptr<LateSession>> quantized;  // by plan; nullptr: none, it stays exact
};

struct ToggledModel::Run {
  size_t first = 0;                           // piece
  const std::vector<bool>* turned = nullptr;  // by piece: only these run, and what depends on them; nullptr: all
  bool keep = false;                          // values that no later piece reads
  std::vector<Local>* locals = nullptr;       // per unit, to be filled
};

ToggledModel::ToggledModel(const graph::Model& model, const quant::Plan& plan, size_t memory_limit)
    : ToggledModel(model, std::span(&plan, 1), memory_limit) {}

ToggledModel::ToggledModel(const graph::Model& model, std::span<const quant::Plan> plans, size_t memory_limit)
    : kept_bytes_(std::min(memory_limit, most_kept_bytes)) {
  guarded([&] { make(model, plans); });
}

ToggledModel::~ToggledModel() = default;

// Operators in bodies of If, Loop and Scan stay as they are.
void ToggledModel::make(const graph::Model& given, std::span<const quant::Plan> plans) {
  const graph::Model model = graph::closed(given);
  std::vector<std::string> wanted;
  for (const auto& output : model.outputs) {
    if (output.type != DataType::undefined && output.type != DataType::string) wanted.push_back(output.name);
  }
  for (const auto& input : model.inputs) inputs_.push_back(number_of(input.name));
  for (const auto& output : wanted) {
    outputs_.push_back(number_of(output));
    if (const Tensor* constant = model.initializer(output)) constants_[outputs_.back()] = *constant;
  }
  Pieces cut = pieces_of(model, plans, wanted);
  units_ = std::move(cut.units);
  part_of_.resize(units_.size());
  std::map<size_t, size_t> readers;  // the last one of each value
  for (Piece& piece : cut.pieces) {
    std::vector<size_t> inputs, outputs;
    for (const auto& input : piece.inputs) inputs.push_back(number_of(input));
    for (const auto& output : piece.outputs) outputs.push_back(number_of(output));
    if (piece.unit) part_of_[*piece.unit] = parts_.size();
    for (const size_t value : inputs) readers[value] = parts_.size();
    Part& part = *parts_.emplace_back(std::make_unique<Part>(std::move(piece)));
    part.inputs = std::move(inputs);
    part.outputs = std::move(outputs);
  }
  for (const auto& [value, reader] : readers) {
    if (std::ranges::find(outputs_, value) == outputs_.end()) parts_[reader]->last.push_back(value);
  }
}

size_t ToggledModel::number_of(const std::string& value) {
  return numbers_.try_emplace(value, numbers_.size()).first->second;
}

std::vector<Tensor> ToggledModel::start(const data::Sample& sample) const {
  std::vector<Tensor> values(numbers_.size());
  for (size_t i = 0; i < inputs_.size(); i++) values[inputs_[i]] = sample.at(i);
  for (const auto& [value, constant] : constants_) values[value] = constant;
  return values;
}

std::vector<Tensor> ToggledModel::outputs_in(const std::vector<Tensor>& values) const {
  std::vector<Tensor> out;
  for (const size_t output : outputs_) out.push_back(values[output]);
  return out;
}

void ToggledModel::run(std::vector<Tensor>& values, const Levels& levels, const Run& how) const {
  const bool all = how.turned == nullptr;
  std::vector<bool> changed(values.size(), all);
  for (size_t p = how.first; p < parts_.size(); p++) {
    const Part& part = *parts_[p];
    const bool runs = all || (*how.turned)[p] || std::ranges::any_of(part.inputs, [&](size_t value) { return changed[value]; });
    if (!runs) continue;
    const size_t level = part.unit ? levels[*part.unit] : 0;
    std::vector<Tensor> found = part.run(values, level);
    if (how.locals != nullptr && part.unit) {
      const std::vector<Tensor> other = part.run(values, level == 0 ? 1 : 0);
      add_squares((level != 0 ? other : found).front(), (level != 0 ? found : other).front(), (*how.locals)[*part.unit]);
    }
    for (size_t i = 0; i < part.outputs.size(); i++) {
      values[part.outputs[i]] = std::move(found[i]);
      changed[part.outputs[i]] = true;
    }
    for (const size_t value : part.last) {
      if (!how.keep && changed[value]) values[value] = Tensor();
    }
  }
}

void ToggledModel::run_changes(std::vector<Tensor>& values, const Levels& before, const Levels& after, bool keep) const {
  std::vector<bool> turned(parts_.size());
  size_t first = parts_.size();
  for (size_t u = 0; u < units_.size(); u++) {
    if (before[u] == after[u]) continue;
    turned[part_of_[u]] = true;
    first = std::min(first, part_of_[u]);
  }
  run(values, after, {.first = first, .turned = &turned, .keep = keep});
}

namespace {

ToggledModel::Levels levels_of(const std::vector<bool>& on) {
  return {on.begin(), on.end()};
}

}  // namespace

std::vector<Tensor> ToggledModel::outputs(const data::Sample& sample, const std::vector<bool>& on) const {
  return guarded([&] {
    std::vector<Tensor> values = start(sample);
    run(values, levels_of(on), {});
    return outputs_in(values);
  });
}

std::vector<ToggledModel::Local> ToggledModel::locals(const data::Sample& sample, const std::vector<bool>& on) const {
  std::vector<Local> out(units_.size());
  if (units_.empty()) return out;
  guarded([&] {
    std::vector<Tensor> values = start(sample);
    run(values, levels_of(on), {.locals = &out});
  });
  return out;
}

ToggledModel::Passage::Passage(const ToggledModel& model, const data::Sample& sample, const std::vector<bool>& on)
    : Passage(model, sample, levels_of(on)) {}

ToggledModel::Passage::Passage(const ToggledModel& model, const data::Sample& sample, Levels levels)
    : model_(model), levels_(std::move(levels)), values_(model.start(sample)) {
  guarded([&] { model_.run(values_, levels_, {.keep = true}); });
}

std::vector<Tensor> ToggledModel::Passage::outputs_at(const Levels& levels) const {
  return guarded([&] {
    std::vector<Tensor> values = values_;
    model_.run_changes(values, levels_, levels, false);
    return model_.outputs_in(values);
  });
}

void ToggledModel::Passage::turn_to(const Levels& levels) {
  guarded([&] { model_.run_changes(values_, levels_, levels, true); });
  levels_ = levels;
}

std::vector<Tensor> ToggledModel::Passage::flipped(size_t unit) const {
  Levels levels = levels_;
  levels[unit] = levels[unit] == 0 ? 1 : 0;
  return outputs_at(levels);
}

void ToggledModel::Passage::flip(size_t unit) {
  Levels levels = levels_;
  levels[unit] = levels[unit] == 0 ? 1 : 0;
  turn_to(levels);
}

size_t ToggledModel::Passage::bytes() const {
  return std::accumulate(values_.begin(), values_.end(), size_t{0},
                         [](size_t sum, const Tensor& value) { return sum + value.bytes().size(); });
}

}  // namespace quasar::tune
