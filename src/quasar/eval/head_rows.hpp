// Outputs of detectors as tables: a row per box, fields of it side by side; and what the fields are.
#pragma once

#include <string>
#include <vector>

#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval {

// What a run of neighbouring fields is, by the operators that made them.
enum class Field { numbers, scores, probabilities, constants };

struct Run {
  Field field = Field::numbers;
  int64_t size = -1;  // −1: not known
  bool operator==(const Run&) const = default;
};

std::vector<Run> runs_of(const std::vector<Piece>& pieces);

// An output [1,fields,rows] or [1,rows,fields] of one sample.
struct Rows {
  std::span<const float> values;
  size_t rows = 0, fields = 0, row_step = 1, field_step = 1;
  float at(size_t row, size_t field) const { return values[row * row_step + field * field_step]; }
};

// Of all samples. `axis`: of the fields, 1 or 2.
std::vector<Rows> rows_of(const HeadFacts& facts, const HeadOutput& output, size_t axis);

// The least and the greatest value of some fields on all samples.
struct Reached {
  double low = 0, high = 0;
};
Reached reached(const std::vector<Rows>& samples, size_t first, size_t count);

bool are_shares(const Reached& values);  // between 0 and 1, as probabilities are

// Whether fields 0 to 3 are a box's left, top, right and bottom in every row.
bool are_corners(const std::vector<Rows>& samples);

// The claim of a detector, judged by what the float model finds.
Claim detector(std::string name, std::vector<const HeadOutput*> outputs, std::string why, Json decoder = nullptr);

}  // namespace quasar::eval
