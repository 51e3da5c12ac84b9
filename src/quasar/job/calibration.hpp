// Calibrate once: what all configurations of a search need is observed together, then every range is arithmetic.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "quasar/job/statistics_folder.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::tune {

// What several configurations need, merged.
struct CalibrationNeeds {
  stats::Requests requests;
  std::set<size_t> sizes;                          // prefixes of the samples that a configuration asks for
  std::map<std::string, stats::Given> given = {};  // ranges that the user gave, in place of observed ones
  // By name, as some configuration has them: what they need of channels is observed along with the rest where it can be.
  std::map<std::string, quant::TransformUse> transforms = {};
  void add(const quant::Config& config);
};

// The statistics of one float graph, observed on first use.
class Calibration {
 public:
  // `shared`: where other processes may have left what this one needs; nullptr: it observes by itself.
  Calibration(const graph::Model& model, data::DatasetPtr samples, CalibrationNeeds needs, Log log,
              std::shared_ptr<StatisticsFolder> shared = nullptr, Progress progress = {});

  // The graph is the other's but for these values: all others need not be observed again. Before the first use.
  void reuse(std::shared_ptr<Calibration> other, std::set<std::string> changed);

  // Observes what has been requested, if nobody has yet; and what this configuration needs beyond that, where ranges of a space
  // are drawn from. Thread-safe. More samples than there are: all.
  const stats::Statistics& seen(const quant::Config& config);
  void observe();
  // Those of these values' channels (name -> axis) that were observed along with the rest, on so many samples.
  stats::ChannelStatistics channels(const std::map<std::string, int>& axes, size_t samples);
  double seconds() const { return seconds_; }

 private:
  void observe_once();
  Observed observed(const std::vector<std::string>& values, const stats::Requests& needs, const std::set<size_t>& sizes,
                    const std::map<std::string, int>& axes) const;
  const stats::Statistics& observed_for(size_t size, const stats::Requests& needs);

  const graph::Model& model_;
  data::DatasetPtr samples_;
  CalibrationNeeds needs_;
  Log log_;
  std::shared_ptr<StatisticsFolder> shared_;
  Progress progress_;
  std::mutex guard_;
  std::map<size_t, stats::Statistics> by_size_;  // number of samples -> statistics
  std::map<std::string, int> axes_;              // of the channels that these know
  // What nobody requested before: by number of samples and needs.
  std::map<std::tuple<size_t, bool, std::set<double>>, stats::Statistics> later_;
  std::shared_ptr<Calibration> other_;
  std::set<std::string> changed_;
  double seconds_ = 0;
};

}  // namespace quasar::tune
