// Products of matrices.
#include <numeric>

#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class ProductGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"Gemm", "MatMul"}; }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    return at.node.is("Gemm") ? of_gemm(at, input) : of_matmul(at, input);
  }

 private:
  static std::optional<std::string> of_gemm(const Backward& at, size_t input) {
    if (input != 0 || at.node.integer("transA", 0) != 0) return std::nullopt;
    const int64_t transposed = at.node.integer("transB", 0) == 0 ? 1 : 0;
    return at.writer.node("Gemm", {at.g(), at.x(1)}, {{"alpha", at.node.real("alpha", 1)}, {"transB", transposed}});
  }

  static std::optional<std::string> of_matmul(const Backward& at, size_t input) {
    const auto a = at.writer.rank(at.x(0)), b = at.writer.rank(at.x(1));
    if (!a || !b || *a < 2 || *b < 2) return std::nullopt;
    const auto other = transposed(at, at.x(1 - input), input == 0 ? *b : *a);
    const std::string product =
        input == 0 ? at.writer.node("MatMul", {at.g(), other}) : at.writer.node("MatMul", {other, at.g()});
    if (input == 0 && *b == 2) return product;  // nothing was broadcast
    return at.writer.summed_to(product, at.x(input), product);
  }

  // The last two axes exchanged.
  static std::string transposed(const Backward& at, const std::string& value, size_t rank) {
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::swap(order[rank - 1], order[rank - 2]);
    return at.writer.node("Transpose", {value}, {{"perm", order}});
  }
};

}  // namespace

Entry<Gradient> products() {
  return {.help = "MatMul, Gemm", .make = make_as<ProductGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
