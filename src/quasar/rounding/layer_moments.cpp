#include "quasar/rounding/layer_moments.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quasar/base/parallel.hpp"
#include "quasar/stats/gram.hpp"
#include "quasar/stats/summary.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_values = size_t{8} << 20;  // of inputs held at a time
constexpr size_t task_rows = 48;
constexpr double least_variation = 1e-6;  // of a mean square: what single precision leaves of a constant

// Columns of several samples side by side, inputs above outputs.
struct Panel {
  std::vector<float> values;
  stats::Rows inputs, outputs;
  size_t columns = 0;
  std::vector<float> roots = {};  // of the columns' weights, by which all values are multiplied; empty: all weigh 1
};

void add_rows(const stats::Rows& rows, const Panel& panel, double* sums, double* squares) {
  for (size_t r = 0; r < rows.count; r++) {
    const std::span<const float> row(rows.data + r * rows.stride, panel.columns);
    const stats::Summary summary = stats::summarize(row);
    sums[r] += panel.roots.empty()
                   ? summary.sum
                   : std::transform_reduce(row.begin(), row.end(), panel.roots.begin(), 0.0, std::plus<>(),
                                           [](float a, float b) { return static_cast<double>(a) * static_cast<double>(b); });
    if (squares != nullptr) squares[r] += summary.sum_squares;
  }
}

// Adds a panel's products, in tasks that write to places of their own.
void add_panel(const LinearLayer& layer, const Panel& panel, Moments& moments, size_t threads) {
  const size_t k = layer.inputs, outputs = layer.group_outputs();
  const size_t gram_tasks = (k + task_rows - 1) / task_rows, cross_tasks = (outputs + task_rows - 1) / task_rows;
  const size_t per_group = gram_tasks + cross_tasks;
  parallel_for(layer.groups * per_group, threads, [&](size_t task) {
    const size_t group = task / per_group, part = task % per_group;
    const stats::Rows inputs = panel.inputs.from(group * k, k);
    if (part < gram_tasks) {
      const size_t first = (gram_tasks - 1 - part) * task_rows, rows = std::min(task_rows, k - first);  // the longest first
      const stats::Rows own = inputs.from(first, rows);
      stats::add_products(own, inputs.from(0, first + rows), panel.columns, moments.gram.data() + (group * k + first) * k, k);
      add_rows(own, panel, moments.inputs.data() + group * k + first, nullptr);
    } else {
      const size_t first = (part - gram_tasks) * task_rows, rows = std::min(task_rows, outputs - first);
      const size_t output = group * outputs + first;
      const stats::Rows own = panel.outputs.from(output, rows);
      stats::add_products(own, inputs, panel.columns, moments.cross.data() + output * k, k);
      add_rows(own, panel, moments.outputs.data() + output, moments.squares.data() + output);
    }
  });
}

// Multiplies a sample's columns, from `first` on, by the roots of their weights.
void weigh(Panel& panel, const Target& target, size_t first, size_t rows) {
  const size_t count = target.positions.size();
  for (size_t p = 0; p < count; p++) panel.roots[first + p] = target.weights.empty() ? 1.0F : std::sqrt(target.weights[p]);
  for (size_t row = 0; row < rows; row++) {
    float* const values = panel.values.data() + row * panel.columns + first;
    for (size_t p = 0; p < count; p++) values[p] *= panel.roots[first + p];
  }
}

}  // namespace

Moments::Moments(const LinearLayer& layer)
    : gram(layer.groups * layer.inputs * layer.inputs, 0),
      cross(layer.outputs * layer.inputs, 0),
      inputs(layer.groups * layer.inputs, 0),
      outputs(layer.outputs, 0),
      squares(layer.outputs, 0) {}

void Moments::add(const Moments& other) {
  const auto sum = [](std::vector<double>& a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); i++) a[i] += b[i];
  };
  sum(gram, other.gram);
  sum(cross, other.cross);
  sum(inputs, other.inputs);
  sum(outputs, other.outputs);
  sum(squares, other.squares);
  columns += other.columns;
  weight += other.weight;
}

size_t bytes_of(const Moments& moments) {
  const size_t values = moments.gram.size() + moments.cross.size() + moments.inputs.size() + moments.outputs.size();
  return sizeof(double) * (values + moments.squares.size());
}

Moments moments_of(const LinearLayer& layer, std::span<const size_t> samples, const std::vector<Target>& targets,
                   const std::function<void(size_t sample, float* to, size_t stride)>& fill, size_t threads) {
  Moments moments(layer);
  const size_t rows = layer.groups * layer.inputs;
  const bool weighted = std::ranges::any_of(samples, [&](size_t sample) { return !targets[sample].weights.empty(); });
  for (size_t first = 0; first < samples.size();) {
    std::vector<size_t> offsets;
    size_t last = first, columns = 0;
    while (last < samples.size()) {
      const size_t more = targets[samples[last]].positions.size();
      if (last > first && (columns + more) * rows > most_values) break;
      offsets.push_back(columns);
      columns += more;
      last++;
    }
    Panel panel;
    panel.columns = columns;
    panel.values.resize((rows + layer.outputs) * columns);
    float* const inputs = panel.values.data();
    float* const outputs = inputs + rows * columns;
    panel.inputs = {inputs, columns, rows};
    panel.outputs = {outputs, columns, layer.outputs};
    if (weighted) panel.roots.resize(columns);
    parallel_for(last - first, threads, [&](size_t i) {
      const Target& target = targets[samples[first + i]];
      fill(samples[first + i], inputs + offsets[i], columns);
      const size_t count = target.positions.size();
      for (size_t o = 0; o < layer.outputs; o++)
        std::copy_n(target.values.data() + o * count, count, outputs + o * columns + offsets[i]);
      if (weighted) weigh(panel, target, offsets[i], rows + layer.outputs);
    });
    add_panel(layer, panel, moments, threads);
    moments.columns += columns;
    moments.weight +=
        weighted ? std::transform_reduce(panel.roots.begin(), panel.roots.end(), 0.0, std::plus<>(),
                                         [](float root) { return static_cast<double>(root) * static_cast<double>(root); })
                 : static_cast<double>(columns);
    first = last;
  }
  return moments;
}

quant::GramProblem problem_of(const LinearLayer& layer, const Moments& moments, size_t group, std::span<const double> bias) {
  const size_t k = layer.inputs, outputs = layer.group_outputs(), first = group * outputs;
  const double share = 1 / positive(moments.weight);
  const bool centred = bias.empty();
  quant::GramProblem problem{.outputs = outputs, .inputs = k};
  problem.gram.resize(k * k);
  const double* const gram = moments.gram.data() + group * k * k;
  const double* const x = moments.inputs.data() + group * k;
  std::vector<bool> varies(k, true);
  for (size_t i = 0; i < k && centred; i++) {
    const double raw = gram[i * k + i];
    varies[i] = raw - share * x[i] * x[i] > least_variation * raw;
  }
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j <= i; j++) {
      const double value = share * (gram[i * k + j] - (centred ? share * x[i] * x[j] : 0));
      problem.gram[i * k + j] = problem.gram[j * k + i] = varies[i] && varies[j] ? value : 0;
    }
  }
  problem.cross.resize(outputs * k);
  for (size_t o = 0; o < outputs; o++) {
    const double y = moments.outputs[first + o], yy = moments.squares[first + o];
    const double constant = centred ? share * y : bias[first + o];
    for (size_t j = 0; j < k; j++)
      problem.cross[o * k + j] = varies[j] ? share * (moments.cross[(first + o) * k + j] - constant * x[j]) : 0;
    problem.power.push_back(std::max(share * yy - 2 * share * constant * y + constant * constant, 0.0));
  }
  return problem;
}

}  // namespace quasar::tune
