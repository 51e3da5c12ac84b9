// The solver behind the rounding methods: sequential rounding with error feedback, then coordinate descent.
//
// Coordinate descent changes one code at a time to the best that is allowed, given the others:
//   q_j ← nearest allowed to q_j − g_j / H_jj,   g = qH − r (half the gradient), kept up to date: g ← g + Δq_j · H_j
// Sequential rounding (Frantar et al. 2022, "GPTQ"; the nearest plane method of Babai 1986) starts from the real minimum
// u = r H⁻¹. With H = LLᵀ the error is Σ_i (L_ii e_i + Σ_{j>i} L_ji e_j)², e = q − u, and codes are fixed from the last to the
// first, each at the least of its own term.
// Where two codes share a sum of 16 bits (GramProblem::partners), each moves within what the other leaves it, and pairs at the
// limit also move along it: one gives what the other takes.
#pragma once

#include "quasar/quant/codes/rounding.hpp"

namespace quasar::quant {

struct DescentOptions {
  bool neighbours_only = false;  // each code is the one below or above its weight
  // Start from sequential rounding; of few inputs, or where that ends no better than nearest codes, from these too, and the
  // better of the two results counts. false: from nearest codes only.
  bool sequential = false;
  bool by_activation = true;  // sequential rounding fixes the inputs with the largest H_jj first
  size_t sweeps = 32;         // coordinate descent ends when nothing changes, or after so many passes; 0: none
  size_t every = 1;           // only every so many outputs are solved; the others' codes and errors are 0
  size_t threads = 0;
};

Solution descend(const GramProblem& problem, const DescentOptions& options);

}  // namespace quasar::quant
