#include "quasar/inspect/first_search.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "quasar/base/digits.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/data/annotations.hpp"
#include "quasar/data/archive.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/data/described.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/npy.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/raw_pictures.hpp"
#include "quasar/data/repeating.hpp"
#include "quasar/eval/flattened.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/eval/label_doubt.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/ops/chosen_outputs.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/trial/quality.hpp"
#include "quasar/tune/open_data.hpp"

namespace quasar::tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t least_taken = 8, most_taken = 2000, most_calibration = 128;
constexpr size_t enough_for_holdout = 300;  // samples
constexpr double usual_loss = 0.01;
constexpr double usual_distance = 0.1;  // of what "relative" calls good
constexpr double usual_decibels = 30;   // noise of a thousandth of the signal's power

// Names that arrays of labels usually have.
bool is_label_name(const std::string& name) {
  constexpr std::array usual{"label", "labels", "y", "target", "targets", "class", "classes"};
  return std::ranges::find(usual, normalized(name)) != usual.end();
}

std::vector<std::string> arrays_in(const fs::path& npz) {
  std::vector<std::string> names;
  const data::Archive archive(npz);
  for (std::string name : archive.names()) {
    if (name.ends_with(".npy")) name.resize(name.size() - std::string(".npy").size());
    names.push_back(name);
  }
  return names;
}

// Whether pictures in the array have their channels last, the model wants them first, and takes them so.
bool has_channels_last(const data::Archive& archive, const std::string& array, const graph::Value& input) {
  const std::string member = array + ".npy";
  if (!input.shape || input.shape->size() != 4 || std::ranges::find(archive.names(), member) == archive.names().end())
    return false;
  const Shape stored = data::NpyArray(archive.open(member), array).shape();
  const int64_t channels = (*input.shape)[1];
  if (channels <= 0 || stored.size() != 4 || stored[1] == channels || stored[3] != channels) return false;
  const auto fits = [](int64_t wanted, int64_t size) { return wanted <= 0 || wanted == size; };
  return fits((*input.shape)[2], stored[1]) && fits((*input.shape)[3], stored[2]);
}

// The array that feeds the input.
std::string array_of(const Json& description, const graph::Value& input) {
  const Json inputs = description.value("inputs", Json());
  const Json array = inputs.is_object() ? inputs.value(input.name, Json()) : inputs;
  return array.is_string() ? array.get<std::string>() : input.name;
}

// Whether a float input is fed from bytes, of whose scale nobody has said anything.
bool feeds_bytes(const Json& description, const graph::Model& model, const fs::path& base) {
  if (!description.is_object() || description.value("reader", "") != "npz" || model.inputs.size() != 1) return false;
  for (const char* key : {"mean", "scale", "std"}) {
    if (description.contains(key)) return false;
  }
  const graph::Value& input = model.inputs.front();
  const data::Archive archive(base / description["path"].get<std::string>());
  const std::string member = array_of(description, input) + ".npy";
  if (input.type != DataType::float32 || std::ranges::find(archive.names(), member) == archive.names().end()) return false;
  return data::NpyArray(archive.open(member), member).type() == DataType::uint8;
}

// Arrays of an npz file that feed no input and are no labels.
std::vector<std::string> passed_over(const Json& description, const graph::Model& model, const fs::path& base) {
  if (!description.is_object() || description.value("reader", "") != "npz") return {};
  std::vector<std::string> out = arrays_in(base / description["path"].get<std::string>());
  const Json labels = description.value("labels", Json());
  std::erase_if(out, [&](const std::string& array) {
    return labels == array ||
           std::ranges::any_of(model.inputs, [&](const auto& one) { return array_of(description, one) == array; });
  });
  return out;
}

// What the arrays of an npz file are: labels by their names; where the model has one input, the array of its name, or the only
// one that is left.
Json described_npz(const std::string& path, const fs::path& base, const graph::Model& model, const std::string& labels) {
  Json out{{"reader", "npz"}, {"path", path}};
  std::vector<std::string> others;
  const data::Archive archive(base / path);
  for (const auto& name : arrays_in(base / path)) {
    if (std::ranges::find(model.inputs, name, &graph::Value::name) != model.inputs.end()) continue;
    if (labels.empty() && is_label_name(name) && !out.contains("labels")) {
      if (const data::NpyArray found(archive.open(name + ".npy"), name); !data::has_fractions(found))
        out["labels"] = name;
      else if (const auto& first = model.inputs.front().name; !out.contains("inputs"))
        out["inputs"] = {{first, first}};  // so that the others are passed over
    } else if (name != labels) {
      others.push_back(name);
    }
  }
  if (!labels.empty()) out["labels"] = labels;
  if (model.inputs.size() != 1) return out;
  const graph::Value& input = model.inputs.front();
  const bool has_own = std::ranges::find(archive.names(), input.name + ".npy") != archive.names().end();
  const std::string& array = has_own || others.size() != 1 ? input.name : others.front();
  if (!others.empty() && (has_own || others.size() == 1)) out["inputs"] = {{input.name, array}};
  if (has_channels_last(archive, array, input)) out["layout"] = "NHWC";
  return out;
}

// The same of samples that a program brings, where no array has a name that a reader takes for labels.
Json with_labels(const Json& description, const graph::Model& model) {
  const std::vector<std::string> arrays = data::whole_arrays(description);
  if (arrays.empty() || description.contains("labels") || std::ranges::any_of(arrays, data::names_labels)) return description;
  Json out = description;
  for (const auto& name : arrays) {
    const bool feeds = std::ranges::find(model.inputs, name, &graph::Value::name) != model.inputs.end();
    if (is_label_name(name) && !feeds && !out.contains("labels")) out["labels"] = name;
  }
  return out;
}

Json described(const FirstSearchOptions& options, const graph::Model& model) {
  const bool plain = options.data.is_string();
  if (plain && fs::path(options.data.get<std::string>()).extension() == ".npz")
    return described_npz(options.data.get<std::string>(), options.base, model, options.labels);
  if (options.labels.empty()) return with_labels(options.data, model);
  if (const auto pictures = data::raw_pictures(options.data, options.base)) {
    Json out = pictures->words;
    const fs::path folder = (pictures->base / out.value("path", "")).lexically_normal();
    out["path"] = folder.string();
    out["labels"] = data::find_labels(options.labels, options.base, folder).lexically_normal().string();
    return out;
  }
  if (plain)
    throw Error("labels is '" + options.labels + "', but '" + options.data.get<std::string>() +
                "' is no .npz file: write a .yaml file with reader, path and labels, and give that");
  Json out = options.data;
  out["labels"] = options.labels;
  return out;
}

// A cosine says nothing of one number.
bool is_one_number(const graph::Value& output) {
  if (!output.shape) return false;
  for (size_t axis = 0; axis < output.shape->size(); ++axis) {
    if ((*output.shape)[axis] != 1 && (axis > 0 || (*output.shape)[axis] > 0)) return false;
  }
  return true;
}

size_t scored(const Json& split, size_t samples) {
  return std::min(samples, most_taken) - split["calibration"].get<size_t>() - split.value("holdout", size_t{0});
}

// {calibration, evaluation, holdout}: of so many samples.
Json parts_of(size_t samples) {
  const size_t taken = std::min(samples, most_taken);
  Json out{{"calibration", std::min(most_calibration, taken / 3)}, {"evaluation", "rest"}, {"seed", 0}};
  if (taken >= enough_for_holdout) out["holdout"] = taken / 4;
  if (samples > most_taken) out["evaluation"] = scored(out, samples);
  return out;
}

// What stands in for the processor that the model is for.
std::string judge_in_words(const quant::Target& target) {
  const std::string here = " (" + runtime::cpu_name() + ")";
  if (target.timed_here()) return ", this machine" + here;
  const runtime::Library own = runtime::parse_library(target.runtime());
  const std::string judge = !runtime::obstacle_to(own).empty()     ? "ONNX Runtime"
                            : own == runtime::Library::openvino    ? "OpenVINO"
                            : own == runtime::Library::onnxruntime ? "ONNX Runtime"
                                                                   : "a simulator of it";
  return ", whose models are scored on this machine" + here + " by " + judge;
}

class Looking {
 public:
  explicit Looking(const FirstSearchOptions& options)
      : options_(options), model_(runtime::prepare(graph::load(options.model))), description_(described(options, model_)) {
    if (!options.set_data) return;
    if (description_.is_string()) description_ = Json{{"path", description_}};
    options.set_data(description_);
  }

  FirstSearch run() {
    tell_model();
    open();
    const Json split = parts_of(samples_->size());
    choose_metric(scored(split, samples_->size()));
    out_.words.update({{"model_input", options_.model.string()}, {"data_reader", description_}, {"split", split}});
    tell("split: " + split["calibration"].dump() + " samples to calibrate on" +
         (split.contains("holdout") ? ", " + split["holdout"].dump() + " that nobody sees before the end" : "") + ", " +
         (split["evaluation"] == "rest" ? "the rest" : split["evaluation"].dump()) + " to score on");
    choose_target();
    out_.words["search_stop_condition"] = {{"time_limit", options_.seconds}};
    out_.words["output_dir"] = options_.output_dir.string();
    tell("time: at most " + in_digits(options_.seconds, 6) + " s (--time)");
    return std::move(out_);
  }

 private:
  void tell(const std::string& line) { out_.lines.push_back(line); }

  void tell_model() {
    std::vector<std::string> inputs;
    for (const auto& input : model_.inputs) inputs.push_back("'" + input.name + "'");
    tell("model: " + options_.model.filename().string() + ", " + std::to_string(model_.nodes.size()) + " nodes, " +
         (inputs.size() == 1 ? "input " : "inputs ") + joined(inputs));
  }

  void open() {
    std::string values;
    description_ = with_values(description_, model_, options_.base, values);
    samples_ = open_data(description_, model_, options_.base);
    if (samples_->size() < least_taken)
      throw Error("'" + samples_->source() + "' has " + std::to_string(samples_->size()) + " samples, but at least " +
                  std::to_string(least_taken) + " are needed: a third to calibrate on, the others to score on");
    has_labels_ = samples_->label(0).has_value();
    const bool boxes = data::boxes_of(*samples_, 0).has_value(), targets = data::target_of(*samples_, 0).has_value();
    tell("data: " + std::to_string(samples_->size()) + " samples, " +
         (samples_->size() > most_taken ? std::to_string(most_taken) + " of which are taken, " : "") +
         (has_labels_ ? "with labels"
          : boxes     ? "with labelled boxes (--metric mAP counts by them)"
          : targets   ? "with several labels each (--metric mean_iou, token_accuracy and others count by them)"
                      : "without labels (--labels names their array)"));
    if (const auto others = passed_over(description_, model_, options_.base); !others.empty())
      tell("passed over: " + joined(others) + " (no input of the model)");
    if (description_.is_object() && description_.contains("layout")) tell("layout: channels come last in the array");
    if (feeds_bytes(description_, model_, options_.base))
      tell(
          "values: bytes of 0 to 255 as they are; does the model take others? (--set data_reader.mean=127.5 --set "
          "data_reader.scale=0.00784)");
    if (!values.empty()) tell(values);
  }

  // What is lost is counted in the task's own accuracy where there are labels, in a cosine to the float model's answers
  // elsewhere.
  void choose_metric(size_t scored_samples) {
    const eval::Head head = eval::head_on(ops::with_answers(model_), *samples_);
    tell("task: " + (head.is_known() ? head.name : std::string("unknown head")) + " (" + head.why + ")");
    std::string metric = options_.metric;
    std::string why = "as you say";
    if (metric.empty()) {
      const bool are_numbers = std::ranges::all_of(model_.outputs, is_one_number);
      const bool are_classes = has_labels_ && (head.name == "classes" || labels_fit());
      metric = are_classes ? "top1" : are_numbers ? "relative" : "cos";
      why = metric == "top1"       ? "classes and labels"
            : metric == "relative" ? "one number, of which a cosine says nothing"
            : has_labels_          ? "no classes that labels could be of"
                                   : "no labels";
    }
    metric = eval::metric_text(metric);
    const bool is_cosine = metric == "cos";
    const auto made = eval::make_metric(metric);
    if (made->needs_decoder() && !head.decoder.is_null()) out_.words["decoder"] = head.decoder;
    const std::optional<double> decibels = options_.loss ? std::nullopt : made->decibels_of_equal();
    const bool relative = !is_cosine && !decibels && made->direction() == Direction::maximize;
    if ((relative || is_cosine) && options_.loss.value_or(0) >= 1)
      throw Error("--loss " + in_digits(*options_.loss) + " would let all of " + metric +
                  " be lost: it is a share, and 5 % are 0.05");
    double loss = options_.loss.value_or(metric == "relative" ? usual_distance : usual_loss);
    if (decibels) loss = *decibels - usual_decibels;
    // Of a metric that counts answers, what fewer than so many of them make up may be chance.
    const bool of_answers =
        !options_.loss && relative && made->is_proportion() && answers_to_lose / static_cast<double>(scored_samples) > usual_loss;
    if (of_answers) {
      constexpr double whole_answers = 1e-4;  // so that what is lost by the third is within
      loss = std::ceil(answers_to_lose / static_cast<double>(scored_samples) / whole_answers) * whole_answers;
      why += "; three of " + std::to_string(scored_samples) + " answers, since fewer may be chance";
    }
    // Accuracy moves in steps of one sample; of models that keep it the nearest to the float model is the best.
    out_.words["search_metric"] = "parts";
    out_.words["accuracy_criterion"] = {
        {"criterion", relative && !of_answers ? "relative" : "absolute"}, {"tolerable_loss", loss}, {"metrics", {{metric, 1}}}};
    const bool distance = made->direction() == Direction::minimize;
    const std::string goal = decibels ? "at least " + in_digits(usual_decibels) + " dB of "
                                      : (distance ? "" : "lose ") + ("at most " + in_digits(loss, 4)) +
                                            (relative && !of_answers ? " of the float model's " : " of ");
    tell("goal: " + goal + metric + " (" + why + "; --metric, --loss); of models that do, the nearest to the float model");
  }

  // Of an output whose form tells nothing, such as averages of a last convolution: whether its greatest value is the label.
  bool labels_fit() const {
    constexpr size_t enough = 64;
    const graph::Model answering = ops::with_answers(model_);
    if (answering.outputs.size() != 1) return false;
    const runtime::Session session(answering);
    const eval::OutputWeights all(nullptr, session.outputs());
    const int64_t repeats = data::repeats_of(*samples_);
    std::vector<int32_t> answers;
    std::vector<int64_t> labels;
    size_t classes = 0;
    const size_t count = std::min(enough, samples_->size());
    for (size_t k = 0; k < count; k++) {
      const size_t i = k * samples_->size() / count;  // from everywhere: files of a class stand together
      const eval::Flattened output(eval::first_of(session.run(samples_->at(i)), repeats), session.outputs(), all);
      answers.push_back(output.answer());
      labels.push_back(samples_->label(i).value_or(-1));
      classes = output.values().size();
    }
    const bool all_alike = std::ranges::count(labels, labels.front()) == std::ssize(labels);
    return !all_alike && eval::are_classes(answers, labels, classes);
  }

  void choose_target() {
    const std::string target = options_.target.empty() ? "ort_cpu" : quant::targets::table().resolve(options_.target);
    const auto made = quant::targets::table().make(target);
    const std::string preset = made->usual_preset();
    out_.words["target"] = target;
    out_.words["preset"] = preset;
    tell("target: " + target + judge_in_words(*made) + " (--target)");
    const bool is_rescued = presets::table().make(preset)->is_rescued();
    tell("way: preset " + preset +
         (is_rescued ? ", then repair where the goal is missed or the best model is of little use" : ""));
  }

  const FirstSearchOptions& options_;
  const graph::Model model_;
  Json description_;
  data::DatasetPtr samples_;
  bool has_labels_ = false;
  FirstSearch out_;
};

}  // namespace

FirstSearch first_search(const FirstSearchOptions& options) {
  return Looking(options).run();
}

std::string file_of(const FirstSearch& first) {
  std::string file;
  for (const auto& line : first.lines) file += "# " + line + "\n";
  return file + to_yaml(first.words);
}

double seconds_of(const std::string& words) {
  double number = 0;
  const char* const end = words.data() + words.size();
  const auto [rest, problem] = std::from_chars(words.data(), end, number);
  const std::string unit(rest, static_cast<size_t>(end - rest));
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (problem != std::errc() || factor == 0 || number * factor < 1)
    throw Error("time is '" + words + "', but must be seconds, minutes or hours of at least one second: 90, 90s, 5m, 1.5h");
  return number * factor;
}

}  // namespace quasar::tune
