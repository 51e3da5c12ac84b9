#include "quasar/sensitivity/toggled_model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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
    if (e.blame() == quasar::Blame::world) throw;  // a disk that cannot be read says nothing of the model
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
  Part(Piece piece) : unit(piece.unit), exact(std::move(piece.exact)), quantized(std::move(piece.quantized)) {}

  std::vector<Tensor> run(const std::vector<Tensor>& values, bool is_quantized) const {
    std::vector<Tensor> given;
    for (const size_t input : inputs) given.push_back(values[input]);
    return (is_quantized ? quantized : exact).run(given);
  }

  std::optional<size_t> unit;
  std::vector<size_t> inputs, outputs;  // numbers of values
  std::vector<size_t> last;             // values that no later piece reads
  LateSession exact, quantized;
};

struct ToggledModel::Run {
  size_t first = 0;                      // piece
  bool all = true;                       // false: the first piece, and what depends on it
  bool keep = false;                     // values that no later piece reads
  std::vector<Local>* locals = nullptr;  // per unit, to be filled
};

ToggledModel::ToggledModel(const graph::Model& model, const quant::Plan& plan, size_t memory_limit)
    : kept_bytes_(std::min(memory_limit, most_kept_bytes)) {
  guarded([&] { make(model, plan); });
}

ToggledModel::~ToggledModel() = default;

void ToggledModel::make(const graph::Model& model, const quant::Plan& plan) {
  std::vector<std::string> wanted;
  for (const auto& output : model.outputs) {
    if (output.type == DataType::float32) wanted.push_back(output.name);
  }
  for (const auto& input : model.inputs) inputs_.push_back(number_of(input.name));
  for (const auto& output : wanted) {
    outputs_.push_back(number_of(output));
    if (const Tensor* constant = model.initializer(output)) constants_[outputs_.back()] = *constant;
  }
  Pieces cut = pieces_of(model, plan, wanted);
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

void ToggledModel::run(std::vector<Tensor>& values, const std::vector<bool>& on, const Run& how) const {
  std::vector<bool> changed(values.size(), how.all);
  for (size_t p = how.first; p < parts_.size(); p++) {
    const Part& part = *parts_[p];
    const bool runs = how.all || p == how.first || std::ranges::any_of(part.inputs, [&](size_t value) { return changed[value]; });
    if (!runs) continue;
    const bool is_on = part.unit && on[*part.unit];
    std::vector<Tensor> found = part.run(values, is_on);
    if (how.locals != nullptr && part.unit) {
      const std::vector<Tensor> other = part.run(values, !is_on);
      add_squares((is_on ? other : found).front(), (is_on ? found : other).front(), (*how.locals)[*part.unit]);
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

std::vector<Tensor> ToggledModel::outputs(const data::Sample& sample, const std::vector<bool>& on) const {
  return guarded([&] {
    std::vector<Tensor> values = start(sample);
    run(values, on, {});
    return outputs_in(values);
  });
}

std::vector<ToggledModel::Local> ToggledModel::locals(const data::Sample& sample, const std::vector<bool>& on) const {
  std::vector<Local> out(units_.size());
  if (units_.empty()) return out;
  guarded([&] {
    std::vector<Tensor> values = start(sample);
    run(values, on, {.locals = &out});
  });
  return out;
}

ToggledModel::Passage::Passage(const ToggledModel& model, const data::Sample& sample, std::vector<bool> on)
    : model_(model), on_(std::move(on)), values_(model.start(sample)) {
  guarded([&] { model_.run(values_, on_, {.keep = true}); });
}

std::vector<Tensor> ToggledModel::Passage::flipped(size_t unit) const {
  return guarded([&] {
    std::vector<bool> on = on_;
    on[unit] = !on[unit];
    std::vector<Tensor> values = values_;
    model_.run(values, on, {.first = model_.part_of_[unit], .all = false});
    return model_.outputs_in(values);
  });
}

void ToggledModel::Passage::flip(size_t unit) {
  on_[unit] = !on_[unit];
  guarded([&] { model_.run(values_, on_, {.first = model_.part_of_[unit], .all = false, .keep = true}); });
}

size_t ToggledModel::Passage::bytes() const {
  return std::accumulate(values_.begin(), values_.end(), size_t{0},
                         [](size_t sum, const Tensor& value) { return sum + value.bytes().size(); });
}

}  // namespace quasar::tune
