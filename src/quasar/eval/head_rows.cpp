#include "quasar/eval/head_rows.hpp"

#include <algorithm>
#include <limits>

namespace quasar::eval {
namespace {

Field field_of(const Piece& piece) {
  if (piece.node == nullptr) return Field::constants;
  return piece.is_score() ? Field::scores : piece.is_probability() ? Field::probabilities : Field::numbers;
}

}  // namespace

std::vector<Run> runs_of(const std::vector<Piece>& pieces) {
  std::vector<Run> out;
  for (const Piece& piece : pieces) {
    const Field field = field_of(piece);
    if (out.empty() || out.back().field != field) {
      out.push_back({field, piece.size});
    } else {
      out.back().size = out.back().size < 0 || piece.size < 0 ? -1 : out.back().size + piece.size;
    }
  }
  return out;
}

std::vector<Rows> rows_of(const HeadFacts& facts, const HeadOutput& output, size_t axis) {
  std::vector<Rows> out;
  for (size_t sample = 0; sample < facts.samples(); ++sample) {
    const Shape shape = facts.shape_in(sample, output);
    if (shape.size() != 3) return {};
    const auto fields = static_cast<size_t>(shape[axis]), rows = static_cast<size_t>(shape[3 - axis]);
    const size_t row_step = axis == 2 ? fields : 1, field_step = axis == 2 ? 1 : rows;
    out.push_back({facts.values(sample, output), rows, fields, row_step, field_step});
  }
  return out;
}

Reached reached(const std::vector<Rows>& samples, size_t first, size_t count) {
  Reached out{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const Rows& sample : samples) {
    for (size_t row = 0; row < sample.rows; ++row) {
      for (size_t field = first; field < std::min(first + count, sample.fields); ++field) {
        out.low = std::min<double>(out.low, sample.at(row, field));
        out.high = std::max<double>(out.high, sample.at(row, field));
      }
    }
  }
  return out;
}

bool are_shares(const Reached& values) {
  return values.low >= 0 && values.high <= 1;
}

bool are_corners(const std::vector<Rows>& samples) {
  return std::ranges::all_of(samples, [](const Rows& sample) {
    for (size_t row = 0; row < sample.rows; ++row) {
      if (sample.at(row, 2) < sample.at(row, 0) || sample.at(row, 3) < sample.at(row, 1)) return false;
    }
    return true;
  });
}

Claim detector(std::string name, std::vector<const HeadOutput*> outputs, std::string why, Json decoder) {
  Claim claim{{.name = name, .why = std::move(why), .metric = "mAP(truth=float)", .decoder = std::move(decoder)}};
  for (const HeadOutput* output : outputs) claim.head.outputs.push_back(output->name);
  if (claim.head.decoder.is_null()) claim.head.decoder = name;
  return claim;
}

}  // namespace quasar::eval
