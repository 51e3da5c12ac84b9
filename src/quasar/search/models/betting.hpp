// Certainty about a mean of differences from some of them, by betting (Waudby-Smith and Ramdas 2024, Estimating means of bounded
// random variables by betting, section 5).
//
// d_i: a trial's loss of sample i minus another one's, whose losses of all N samples are known. The samples come in random order
// without replacement. The hypothesis "the mean of all N differences is at most m" is tested by betting against it:
//
//   K_t = mean over c of Π_{s ≤ t} (1 + c·(d_s − μ_s) / (b_s + μ_s)),   μ_s = (N·m − Σ_{r<s} d_r) / (N − s + 1),   0 < c < 1
//
// μ_s bounds the next difference's conditional mean under the hypothesis, and d_s ≥ −b_s with b_s the greatest loss above the
// floor that the other one has on any sample not yet seen. So every factor is ≥ 0 with mean ≤ 1, K is a supermartingale, and by
// Ville's inequality it ever reaches 1/ε with probability ε at most: for any number of looks and any distribution, without bounds
// on how bad a sample may be and without asymptotics. Several c, because the best one depends on the differences.
#pragma once

#include <span>

namespace quasar::search {

// Whether the hypothesis is refuted with probability of error exp(−`needed`), or cannot hold any more whatever the rest is.
// `losses`: of the samples seen so far; `other`: of all samples, in the same order; `floor`: no loss is below it.
bool refuted(std::span<const double> losses, std::span<const double> other, double floor, double margin, double needed);

}  // namespace quasar::search
