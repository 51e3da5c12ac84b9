// One group of values whose scale is under trial: its window runs with every candidate on the samples that judge, and what comes
// out is compared with the float model's values. For activation_scales.cpp.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quasar/rounding/judges.hpp"
#include "quasar/rounding/scale_window.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {

struct ScaleTrial {
  ScaleTrial(SharedScale values, ScaleWindow around) : group(std::move(values)), window(std::move(around)) {}

  SharedScale group;
  ScaleWindow window;
  std::vector<std::string> normalized = {};         // by output of the window: what is normalized behind it; "": nothing
  std::vector<quant::QuantParams> candidates = {};  // the present parameters first
  std::string key = {};                             // hash of all that decides
  std::vector<Judge> judges = {};
  std::map<size_t, size_t> slots = {};  // of judges, by sample
  std::set<size_t> alive = {};          // candidates that are still looked at, the present one always

  void begin(std::vector<Judge> with);
  void open() {
    session_ = std::make_unique<runtime::Session>(
        window.model, runtime::SessionOptions{.optimization = runtime::Optimization::basic, .arena = false});
  }
  void close() { session_.reset(); }

  // Runs the candidates that are alive on one judge's sample. `values`: the float model's, by name. -> numbers() of them, for
  // note().
  std::vector<double> look_at(const std::map<std::string, Tensor>& values) const;
  size_t numbers() const { return window.outputs.size() * (alive.size() + 1); }
  void note(size_t slot, std::span<const double> found);

  // After the first `count` judges: gives up candidates that do not help, or too little to be worth further judges.
  void screen(size_t count);

  // Whether further judges would decide nothing: only the present candidate is left, or one that is certain to be better.
  bool settled() const { return settled_; }

  // The candidate of the greatest gain that is certain by the judges seen; 0: the present one stays.
  size_t best() const;

 private:
  // By how much less the error of a candidate is than another's, by judge.
  std::vector<double> gains_of(size_t candidate, size_t over) const;

  // What each judge seen adds to the relative squared error of a candidate.
  std::vector<double> errors_of(size_t candidate) const;

  std::unique_ptr<runtime::Session> session_ = {};
  std::vector<std::vector<double>> errors_ = {};  // [candidate][judge · outputs + output]
  std::vector<double> powers_ = {};               // [judge · outputs + output]
  size_t seen_ = 0;                               // judges
  bool settled_ = false;
};

}  // namespace quasar::tune
