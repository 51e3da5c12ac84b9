#include "quasar/runtime/judge_process.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/system/open_file.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/runtime/messages.hpp"

namespace quasar::runtime {
namespace {

constexpr size_t longest_message = 400;
constexpr size_t longest_cure = 1000;  // of what says how the library is installed

std::string in_one_line(const std::string& text, size_t longest = longest_message) {
  std::string out = text;
  std::ranges::replace(out, '\n', ' ');
  out = printable_name(out);
  return out.size() > longest ? out.substr(0, longest) + " …" : out;
}

// Not flushed to the disk, as write_file() does: whoever reads it lives no longer than this process. Nor emptied first, after
// which some file systems flush a file when it is closed.
void write_passing(const std::filesystem::path& path, std::string_view bytes) {
  const OpenFile file(path, OpenFile::For::both);
  if (!file.is_open() || !file.write_at(0, std::as_bytes(std::span(bytes))))
    throw Error("cannot write '" + path.string() + "': " + std::strerror(errno), blame_of(errno));
}

// What a process must know of inputs and outputs before it opens their model.
Json described(const graph::Model& model) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const auto& input : model.inputs) {
    if (model.initializer(input.name) == nullptr)
      inputs.push_back({{"name", input.name}, {"type", static_cast<int>(input.type)}});
  }
  for (const auto& output : model.outputs) outputs.push_back(output.name);
  return {{"inputs", inputs}, {"outputs", outputs}};
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

// A model on its way to processes.
class PassingModel {
 public:
  explicit PassingModel(const graph::Model& model) : model_(model) {
    if (graph::too_large_for_a_message(model)) return;
    bytes_ = graph::to_bytes(model);
    name_ = hash_of(std::string_view(bytes_));
  }

  // By its bytes; "": they are too many.
  const std::string& name() const { return name_; }

  // Written when it is first asked for.
  const std::filesystem::path& file() {
    std::call_once(written_, [this] {
      if (name_.empty()) {
        graph::save(model_, file_, graph::ExternalData::always);
      } else {
        write_passing(file_, bytes_);
      }
    });
    return file_;
  }

 private:
  const graph::Model& model_;
  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "model.onnx";
  std::string bytes_, name_;
  std::once_flag written_;
};

JudgeProcess::JudgeProcess(std::string name, const std::vector<std::string>& arguments, double longest)
    : name_(std::move(name)), longest_(longest), process_({.arguments = arguments, .errors = folder_.path() / "stderr"}) {
  bool alive = true;
  facts_ = ask({{"hello", 1}}, "be started", alive);
}

Json JudgeProcess::open(const std::filesystem::path& model, const graph::Model& of, const Json& more, bool& alive) {
  open_model_.clear();
  Json question = described(of);
  question.update(more);
  question["model"] = model.string();
  return ask(question, "open the model", alive);
}

Json JudgeProcess::question_of(const std::vector<graph::Value>& inputs, std::span<const Tensor> given) const {
  const auto from = folder_.path() / "inputs";
  Json question{{"inputs", Json::array()}, {"from", from.string()}};
  std::string bytes;
  for (size_t i = 0; i < given.size(); ++i) {
    question["inputs"].push_back(
        {{"name", inputs[i].name}, {"type", static_cast<int>(given[i].type())}, {"shape", given[i].shape()}});
    const auto of_tensor = given[i].bytes();
    bytes.append(reinterpret_cast<const char*>(of_tensor.data()), of_tensor.size());
  }
  write_passing(from, bytes);
  return question;
}

std::vector<Tensor> JudgeProcess::run(const std::vector<graph::Value>& inputs, std::span<const Tensor> given, bool& alive) {
  const auto to = folder_.path() / "outputs";
  Json question = question_of(inputs, given);
  question["to"] = to.string();
  const Json answer = ask(question, "run the model", alive);
  const OpenFile found(to, OpenFile::For::reading);
  std::vector<Tensor> out;
  uint64_t at = 0;
  for (const Json& output : answer.at("outputs")) {
    const auto type = static_cast<DataType>(output.at("type").get<int>());
    const auto shape = output.at("shape").get<Shape>();
    std::vector<std::byte> bytes(bytes_of(type, count_of(shape)));
    if (found.read_at(at, bytes) != static_cast<int64_t>(bytes.size()))
      throw Error(name_ + " gave fewer bytes than its outputs have");
    at += bytes.size();
    out.push_back(Tensor::copy(type, shape, bytes.data(), bytes.size()));
  }
  return out;
}

double JudgeProcess::seconds_of_run(const std::vector<graph::Value>& inputs, std::span<const Tensor> given, bool& alive) {
  Json question = question_of(inputs, given);
  question["timed"] = true;
  return ask(question, "run the model", alive).at("seconds").get<double>();
}

Json JudgeProcess::ask(const Json& question, const std::string& doing, bool& alive) {
  std::string line;
  alive = false;  // also when the work is cancelled, which ends the process
  if (!process_.ask(question.dump(), line, longest_)) {
    const Exit exit = process_.wait();
    const std::string how =
        exit.timed_out ? "took longer than " + Json(longest_).dump() + " s and was ended" : "ended with " + to_string(exit);
    throw Error("the process of " + name_ + " " + how + " when it should " + doing + last_words(folder_.path() / "stderr"));
  }
  const Json answer = json_in(line).value_or(Json());
  if (!answer.is_object())
    throw Error("the process of " + name_ + " gave no sense when it should " + doing + ": " + in_one_line(line));
  alive = true;
  if (answer.contains("error"))
    throw Error(name_ + " cannot " + doing + ": " +
                in_one_line(answer.value("error", ""), facts_.is_null() ? longest_cure : longest_message));
  return answer;
}

std::unique_ptr<JudgeProcess> JudgePool::take(const std::string& model) {
  {
    const std::scoped_lock lock(guard_);
    if (!idle_.empty()) {
      const auto has_it = [&](const auto& process) { return process->open_model() == model; };
      const auto found = std::ranges::find_if(idle_, has_it);
      auto place = found != idle_.end() ? found : idle_.end() - 1;
      auto out = std::move(*place);
      idle_.erase(place);
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

  void open_in(std::unique_ptr<JudgeProcess>& process, PassingModel& passing, const graph::Model& model) const {
    bool is_alive = true;
    try {
      process->open(passing.file(), model, Json::object(), is_alive);
      process->call_it(passing.name());
    } catch (...) {
      if (is_alive) pool.give_back(std::move(process));
      throw;
    }
  }

  void open(const graph::Model& model, size_t at_once) {
    PassingModel passing(model);
    // Beside each other: opening takes longer than many runs.
    std::vector<std::unique_ptr<JudgeProcess>> opened(at_once);
    try {
      parallel_for(at_once, at_once, [&](size_t i) {
        auto process = pool.take(passing.name());
        if (passing.name().empty() || process->open_model() != passing.name()) open_in(process, passing, model);
        opened[i] = std::move(process);
      });
    } catch (...) {
      for (auto& process : opened) {
        if (process) pool.give_back(std::move(process));
      }
      throw;
    }
    free = std::move(opened);
    alive = at_once;
  }

  template <class Work>
  auto with_a_process(std::span<const Tensor> given, const Work& work) {
    throw_if_cancelled();
    check_inputs(inputs, given);
    auto process = take();
    bool is_alive = false;
    try {
      auto out = work(*process, is_alive);
      give_back(std::move(process), true, "");
      return out;
    } catch (const std::exception& error) {
      give_back(std::move(process), is_alive, error.what());
      throw;
    } catch (...) {
      give_back(std::move(process), is_alive, "the run was cancelled");
      throw;
    }
  }

  ~Impl() {
    for (auto& process : free) pool.give_back(std::move(process));
  }
};

Json said_of(JudgePool& pool, const graph::Model& model, const Json& more) {
  PassingModel passing(model);
  auto process = pool.take();
  bool is_alive = true;
  const auto give_back = [&] {
    if (is_alive) pool.give_back(std::move(process));
  };
  try {
    Json out = process->open(passing.file(), model, more, is_alive);
    give_back();
    return out;
  } catch (...) {
    give_back();
    throw;
  }
}

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
  return impl_->with_a_process(
      inputs, [&](JudgeProcess& process, bool& is_alive) { return process.run(impl_->inputs, inputs, is_alive); });
}

double JudgedModel::seconds_of_run(std::span<const Tensor> inputs) const {
  return impl_->with_a_process(
      inputs, [&](JudgeProcess& process, bool& is_alive) { return process.seconds_of_run(impl_->inputs, inputs, is_alive); });
}

}  // namespace quasar::runtime
