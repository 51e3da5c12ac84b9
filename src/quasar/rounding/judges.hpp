// Which samples judge a choice, and whether what they say is more than noise.
#pragma once

#include <span>
#include <vector>

namespace quasar::tune {

// `count` of the numbers 0 … size − 1 (all, where there are fewer), evenly spread, in order.
std::vector<size_t> spread_over(size_t size, size_t count);

// The least and the greatest of a sample's values.
struct Reach {
  float low = 0, high = 0;
};

struct Judge {
  size_t sample = 0;
  double weight = 1;  // how many samples it stands for
};

// At most `most` samples (but at least four): the two that reach highest and the two that reach lowest, each for itself, then
// others that are spread over the rest and stand for it. Any first few of them are spread as well.
std::vector<Judge> judges(const std::vector<Reach>& reaches, size_t most);

// The sum of the judges' gains; 0 unless it exceeds `errors` of its standard errors, and both the even and the odd judges gain.
double certain_gain(std::span<const double> gains, double errors);

}  // namespace quasar::tune
