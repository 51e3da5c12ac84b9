#include "quasar/ops/sum_order.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace quasar::ops {
namespace {

constexpr std::array<std::string_view, 2> convolutions = {"Conv", "QLinearConv"};
constexpr std::array<std::string_view, 7> products = {"MatMul",        "MatMulInteger",         "MatMulIntegerToFloat",
                                                      "QLinearMatMul", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM",
                                                      "QAttention"};
constexpr std::array<std::string_view, 2> rows_of_outputs = {"Gemm", "QGemm"};

template <size_t n>
bool among(const std::array<std::string_view, n>& types, const std::string& type) {
  return std::ranges::find(types, type) != types.end();
}

size_t product(const Shape& shape, size_t from, size_t to) {
  return count_of(Shape(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.begin() + static_cast<std::ptrdiff_t>(to)));
}

std::optional<SumOrder> of_convolution(const graph::Node& node, const Shape& shape, Kernels kernels) {
  if (shape.size() < 3) return std::nullopt;
  const auto groups = static_cast<size_t>(std::max<int64_t>(node.integer("group", 1), 1));
  const auto outputs = static_cast<size_t>(shape[0]), channels = static_cast<size_t>(shape[1]);
  if (channels == 1 && outputs == groups) return std::nullopt;
  const size_t taps = product(shape, 2, shape.size());
  return SumOrder{.sums = outputs,
                  .terms = channels * taps,
                  .columns = std::max<size_t>(outputs, 1),
                  .across = channels * taps,
                  .fast = std::max<size_t>(channels, 1),
                  .along = taps,
                  .beyond = 1,
                  .padded = kernels == Kernels::onednn && groups == 1};
}

// [inputs, outputs of a group, kernel]: each kernel element of an output has a sum of its own.
std::optional<SumOrder> of_transposed(const graph::Node& node, const Shape& shape) {
  if (shape.size() < 3) return std::nullopt;
  const auto groups = static_cast<size_t>(std::max<int64_t>(node.integer("group", 1), 1));
  const size_t terms = static_cast<size_t>(shape[0]) / groups, columns = product(shape, 1, shape.size());
  if (terms <= 1 || columns == 0) return std::nullopt;
  return SumOrder{.sums = groups * columns,
                  .terms = terms,
                  .columns = columns,
                  .stack = terms * columns,
                  .across = 1,
                  .fast = terms,
                  .along = columns,
                  .padded = true};
}

// [outputs, inputs]
SumOrder of_rows(const Shape& shape) {
  const size_t rows = product(shape, 0, shape.size() - 1), terms = static_cast<size_t>(shape.back());
  return {
      .sums = rows, .terms = terms, .columns = std::max<size_t>(rows, 1), .across = terms, .fast = std::max<size_t>(terms, 1)};
}

// […, inputs, outputs]
SumOrder of_columns(const Shape& shape) {
  const auto columns = static_cast<size_t>(shape.back()), terms = static_cast<size_t>(shape[shape.size() - 2]);
  return {.sums = product(shape, 0, shape.size() - 2) * columns,
          .terms = terms,
          .columns = std::max<size_t>(columns, 1),
          .stack = terms * columns,
          .across = 1,
          .fast = std::max<size_t>(terms, 1),
          .along = columns};
}

}  // namespace

std::optional<SumOrder> sum_order(const graph::Node& node, const Shape& weights, Kernels kernels) {
  const std::string& type = node.op_type;
  if (kernels == Kernels::neon) return std::nullopt;
  if (among(convolutions, type)) return of_convolution(node, weights, kernels);
  if (type == "ConvTranspose" && kernels == Kernels::onednn) return of_transposed(node, weights);
  if (weights.size() < 2) return std::nullopt;
  if (among(products, type)) return of_columns(weights);
  if (among(rows_of_outputs, type)) return node.integer("transB", 0) != 0 ? of_rows(weights) : of_columns(weights);
  if (type == "LSTM") return of_rows(weights);
  return std::nullopt;
}

std::optional<size_t> partner_of(size_t j, size_t channels, size_t taps, bool padded) {
  if (padded) {
    const size_t channel = j / taps ^ 1U;
    return channel < channels ? std::optional(channel * taps + j % taps) : std::nullopt;
  }
  const size_t k = (j % taps) * channels + j / taps, other = k ^ 1U;
  if (other >= channels * taps) return std::nullopt;
  return other % channels * taps + other / channels;
}

size_t overflowing_pairs(std::span<const int32_t> codes, const SumOrder& order, int32_t most_input) {
  constexpr int32_t highest = 32767, lowest = -32768;
  size_t count = 0;
  for_pairs(order, [&](size_t i, size_t j) {
    const int32_t up = std::max(codes[i], 0) + std::max(codes[j], 0), down = std::min(codes[i], 0) + std::min(codes[j], 0);
    if (up * most_input > highest || down * most_input < lowest) count++;
  });
  return count;
}

}  // namespace quasar::ops
