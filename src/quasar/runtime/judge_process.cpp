#include "quasar/runtime/judge_process.hpp"

#include <algorithm>
#include <condition_variable>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/messages.hpp"

namespace quasar::runtime {
namespace {

constexpr size_t longest_message = 400;

std::string in_one_line(const std::string& text) {
  std::string out = text;
  std::ranges::replace(out, '\n', ' ');
  out = printable_name(out);
  return out.size() > longest_message ? out.substr(0, longest_message) + " …" : out;
}

// The last line that the process wrote to its standard error; "": none.
std::string last_words(const std::filesystem::path& errors) {
  const std::string text = std::filesystem::exists(errors) ? read_file(errors) : "";
  const size_t end = text.find_last_not_of("\n ");
  if (end == std::string::npos) return "";
  const size_t start = text.find_last_of('\n', end);
  return "; its last words: " + in_one_line(text.substr(start == std::string::npos ? 0 : start + 1, end + 1));
}

}  // namespace

JudgeProcess::JudgeProcess(std::string name, const std::vector<std::string>& arguments, double longest)
    : name_(std::move(name)), longest_(longest), process_({.arguments = arguments, .errors = folder_.path() / "stderr"}) {
  bool alive = true;
  facts_ = ask({{"hello", 1}}, "be started", alive);
}

Json JudgeProcess::open(const std::filesystem::path& model, bool& alive) {
  return ask({{"model", model.string()}}, "open the model", alive);
}

std::vector<Tensor> JudgeProcess::run(const std::vector<graph::Value>& inputs, std::span<const Tensor> given, bool& alive) {
  const auto from = folder_.path() / "inputs", to = folder_.path() / "outputs";
  Json question{{"inputs", Json::array()}, {"from", from.string()}, {"to", to.string()}};
  std::string bytes;
  for (size_t i = 0; i < given.size(); ++i) {
    question["inputs"].push_back(
        {{"name", inputs[i].name}, {"type", static_cast<int>(given[i].type())}, {"shape", given[i].shape()}});
    const auto of_tensor = given[i].bytes();
    bytes.append(reinterpret_cast<const char*>(of_tensor.data()), of_tensor.size());
  }
  write_file(from, bytes);
  const Json answer = ask(question, "run the model", alive);
  const std::string found = read_file(to);
  std::vector<Tensor> out;
  size_t at = 0;
  for (const Json& output : answer.at("outputs")) {
    const auto type = static_cast<DataType>(output.at("type").get<int>());
    const auto shape = output.at("shape").get<Shape>();
    const size_t size = bytes_of(type, count_of(shape));
    if (size > found.size() - at) throw Error(name_ + " gave fewer bytes than its outputs have");
    out.push_back(Tensor::copy(type, shape, found.data() + at, size));
    at += size;
  }
  return out;
}

Json JudgeProcess::ask(const Json& question, const std::string& doing, bool& alive) {
  std::string line;
  alive = false;  // also when the work is cancelled, which ends the process
  if (!process_.ask(question.dump(), line, longest_)) {
    const Exit exit = process_.wait();
    const std::string how =
        exit.by_force() ? "took longer than " + Json(longest_).dump() + " s and was ended" : "ended with " + to_string(exit);
    throw Error("the process of " + name_ + " " + how + " when it should " + doing + last_words(folder_.path() / "stderr"));
  }
  const Json answer = json_in(line).value_or(Json());
  if (!answer.is_object())
    throw Error("the process of " + name_ + " gave no sense when it should " + doing + ": " + in_one_line(line));
  alive = true;
  if (answer.contains("error")) throw Error(name_ + " cannot " + doing + ": " + in_one_line(answer.value("error", "")));
  return answer;
}

std::unique_ptr<JudgeProcess> JudgePool::take() {
  {
    const std::scoped_lock lock(guard_);
    if (!idle_.empty()) {
      auto out = std::move(idle_.back());
      idle_.pop_back();
      return out;
    }
  }
  return std::make_unique<JudgeProcess>(name_, arguments_, longest_);
}

void JudgePool::give_back(std::unique_ptr<JudgeProcess> process) {
  const std::scoped_lock lock(guard_);
  idle_.push_back(std::move(process));
}

struct JudgedModel::Impl {
  JudgePool& pool;
  std::vector<graph::Value> inputs, outputs;
  std::mutex guard;
  std::condition_variable given_back;
  std::vector<std::unique_ptr<JudgeProcess>> free;  // that no run uses
  size_t alive = 0;                                 // free or running
  std::string died = {};                            // of what the last one that did

  // A process that has opened the model. What died is not started again: whatever it died of would kill the next one too.
  std::unique_ptr<JudgeProcess> take() {
    std::unique_lock lock(guard);
    given_back.wait(lock, [this] { return !free.empty() || alive == 0; });
    if (free.empty()) throw Error(died);
    auto out = std::move(free.back());
    free.pop_back();
    return out;
  }

  void give_back(std::unique_ptr<JudgeProcess> process, bool is_alive, const std::string& why) {
    {
      const std::scoped_lock lock(guard);
      if (is_alive) {
        free.push_back(std::move(process));
      } else {
        --alive;
        died = why;
      }
    }
    given_back.notify_all();
  }

  void open(const graph::Model& model, size_t at_once) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "model.onnx";
    graph::save(model, file, graph::ExternalData::when_needed);
    for (; alive < at_once; ++alive) {
      auto process = pool.take();
      bool is_alive = true;
      try {
        process->open(file, is_alive);
      } catch (...) {
        if (is_alive) pool.give_back(std::move(process));
        throw;
      }
      free.push_back(std::move(process));
    }
  }

  ~Impl() {
    for (auto& process : free) pool.give_back(std::move(process));
  }
};

JudgedModel::JudgedModel(JudgePool& pool, const graph::Model& model, size_t at_once)
    : impl_(new Impl{.pool = pool, .inputs = {}, .outputs = model.outputs, .guard = {}, .given_back = {}, .free = {}}) {
  for (const auto& input : model.inputs) {
    if (model.initializer(input.name) == nullptr) impl_->inputs.push_back(input);
  }
  impl_->open(model, std::max<size_t>(at_once, 1));
}

JudgedModel::~JudgedModel() = default;

const std::vector<graph::Value>& JudgedModel::inputs() const {
  return impl_->inputs;
}

const std::vector<graph::Value>& JudgedModel::outputs() const {
  return impl_->outputs;
}

std::vector<Tensor> JudgedModel::run(std::span<const Tensor> inputs) const {
  throw_if_cancelled();
  check_inputs(impl_->inputs, inputs);
  auto process = impl_->take();
  bool is_alive = false;
  try {
    std::vector<Tensor> out = process->run(impl_->inputs, inputs, is_alive);
    impl_->give_back(std::move(process), true, "");
    return out;
  } catch (const std::exception& error) {
    impl_->give_back(std::move(process), is_alive, error.what());
    throw;
  } catch (...) {
    impl_->give_back(std::move(process), is_alive, "the run was cancelled");
    throw;
  }
}

}  // namespace quasar::runtime
