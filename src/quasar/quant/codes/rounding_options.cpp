#include "quasar/quant/codes/rounding_options.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::quant {
std::vector<OptionSpec> layer_options() {
  return {{.name = "data_size", .fallback = nullptr, .help = "number of calibration samples used; all when left out", .low = 1},
          {.name = "damping",
           .fallback = 1.0,
           .help = "pull towards the original weights: λ = damping · k/√n · mean H_jj",
           .low = 0,
           .aliases = {"percdamp"}},
          {.name = "update_bias", .fallback = true, .help = "the bias takes up the mean error of the layer's output"},
          {.name = "scale_search",
           .fallback = true,
           .help = "weight scales below the configured ones are tried too: clipping a few weights may serve the others"},
          {.name = "end_loss_guidance",
           .fallback = nullptr,
           .help = "how much a position of a layer's output counts by what its errors do to the model's outputs: 0 not at all, 1 "
                   "as their squared gradient says; left out: 0.25 in models with LayerNormalization, 0 in others",
           .low = 0,
           .high = 1,
           .aliases = {"guided_quant"}},
          {.name = "refine_activations",
           .fallback = true,
           .help = "scales of activations are chosen again by what they do to the outputs of the layers that follow"},
          {.name = "keep_activations",
           .fallback = Json::array(),
           .help = "values whose scale is not chosen again; those with a range of the user's are added"}};
}

std::vector<OptionSpec> descent_options() {
  std::vector<OptionSpec> options = layer_options();
  options.push_back({.name = "num_iterations",
                     .fallback = most_sweeps,
                     .help = "most passes of coordinate descent over a layer's weights; it ends earlier when nothing changes, "
                             "always within 32",
                     .low = 1});
  return options;
}

size_t sweeps_of(const Options& options) {
  return static_cast<size_t>(std::min(options.integer("num_iterations"), most_sweeps));
}

double LayerSettings::damping_of(double diagonal, size_t times_seen) const {
  return damping * std::max(diagonal, 0.0) / std::sqrt(static_cast<double>(std::max<size_t>(times_seen, 1)));
}

LayerSettings layer_settings(const Options& options) {
  LayerSettings settings{.data_size = {},
                         .damping = options.real("damping"),
                         .update_bias = options.all().value("update_bias", true),
                         .scale_search = options.flag("scale_search"),
                         .end_loss_guidance = {},
                         .refine_activations = options.all().value("refine_activations", false)};
  if (const Json given = options.all().value("end_loss_guidance", Json()); given.is_number()) settings.end_loss_guidance = given;
  for (const auto& value : options.all().value("keep_activations", Json::array())) {
    if (!value.is_string()) throw Error("keep_activations: " + value.dump() + " is not the name of a value");
    settings.keep_activations.insert(value.get<std::string>());
  }
  if (options.has("data_size")) settings.data_size = static_cast<size_t>(options.integer("data_size"));
  return settings;
}

const std::vector<InertOption>& inert_options() {
  static const std::string exact = "the least error is found from Gram matrices, not by gradient steps";
  static const std::string whole = "all samples enter the Gram matrices at once";
  static const std::string device = "rounding runs on the CPU; the wish is recorded";
  static const std::string storage = "no activations are stored";
  static const std::vector<InertOption> all{
      {{"learning_rate", nullptr, "step of gradient descent", 0}, exact},
      {{"lr_adjust", Json::array(), "schedule of the learning rate"}, exact},
      {{"batch_size", 1, "samples per step", 1}, whole},
      {{"num_batches", 1, "batches per step", 1}, whole},
      {{"fixed_seed", 0, "seed of the order of samples", 0}, "nothing is random"},
      {{"early_stop", false, "stop when the loss no longer falls"}, "every layer ends when nothing changes any more"},
      {{"selective_update", false, "keep a layer's old weights where they were better"}, "that is always done"},
      {{"drop_ratio", nullptr, "share of inputs taken from the float model", 0, 1}, "inputs come from the quantized model"},
      {{"optim_device", "", "device of the optimization"}, device},
      {{"infer_device", "", "device of inference"}, device},
      {{"mem_opt_level", 1, "where activations are stored", 0, 2}, storage},
      {{"cache_dir", "", "folder of stored activations"}, storage},
      {{"log_period", 1, "iterations between two messages", 1}, "every layer is reported once"},
      {{"output_index", 0, "which output is compared", 0}, "each layer is compared at its own output"},
      {{"output_qdq", false, "compare after quantization of the output"}, "each layer is compared before it"},
      {{"reg_param", nullptr, "weight of the rounding regularization", 0}, exact},
      {{"beta_range", Json::array(), "range of the regularization's exponent"}, exact},
      {{"warm_start", nullptr, "share of steps without regularization", 0, 1}, exact},
      {{"dynamic_batch", false, "whether the batch axis may vary"}, whole},
      {{"parallel", false, "train layers in parallel"}, "outputs of a layer are solved in parallel"},
      {{"ref_model_path", "", "model with the reference outputs"}, "the float model is the reference"},
      {{"target_op_type", Json::array(), "operators to optimize"}, "every layer with quantized weights is optimized"}};
  return all;
}

}  // namespace quasar::quant
