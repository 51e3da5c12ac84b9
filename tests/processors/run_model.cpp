// Runs a model on samples and keeps its outputs, so that processors can be compared. It needs ONNX Runtime and nothing else, and
// is therefore quickly built for another processor, too.
//
// usage: run_model MODEL INPUTS_FOLDER OUT_FOLDER [--exact] [--precise]
//        run_model --list FILE      one such line per model; words are separated by spaces. A model that fails does not end it.
// INPUTS_FOLDER has one folder per sample, in it 0.npy, 1.npy … for the model's inputs in their order. OUT_FOLDER gets the
// outputs in the same way. --exact: no graph optimization, so that Q/DQ pairs are computed in float. --precise: the session
// option session.x64quantprecision, which makes uint8 weights of int8 ones where kernels add products in 16 bits.
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Job {
  fs::path model, inputs, out;
  bool exact = false, precise = false;
};

struct Array {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::string bytes;
};

struct Kind {
  ONNXTensorElementDataType type;
  const char* name;  // as NumPy writes it
};
constexpr Kind kinds[] = {{ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "<f4"},   {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, "<f8"},
                          {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, "<f2"}, {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, "<i8"},
                          {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, "<i4"},   {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, "|i1"},
                          {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, "|u1"},   {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "|b1"}};

std::runtime_error failure(const fs::path& file, const std::string& what) {
  return std::runtime_error(file.string() + ": " + what);
}

Array read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0 || text.size() < 10)
    throw failure(file, "is not a .npy file of version 1");
  const size_t length = static_cast<uint8_t>(text[8]) + 256u * static_cast<uint8_t>(text[9]);
  const std::string header = text.substr(10, length);
  if (header.find("'fortran_order': False") == std::string::npos) throw failure(file, "is not in C's order");
  Array out;
  for (const auto& [type, name] : kinds)
    if (header.find(std::string("'") + name + "'") != std::string::npos) out.type = type;
  if (out.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) throw failure(file, "has a type that is not read here: " + header);
  std::istringstream shape(header.substr(header.find('(') + 1));
  for (int64_t size = 0; shape >> size; shape.get()) out.shape.push_back(size);
  out.bytes = text.substr(10 + length);
  return out;
}

void write(const fs::path& file, const Ort::Value& value) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  const auto* kind =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return k.type == info.GetElementType(); });
  if (kind == std::end(kinds)) throw failure(file, "the output has a type that is not written here");
  std::string header = std::string("{'descr': '") + kind->name + "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : info.GetShape()) header += std::to_string(size) + ",";
  header += "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');  // data starts at a multiple of 64
  header += '\n';
  std::ofstream out(file, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8).put(static_cast<char>(header.size() % 256)).put(static_cast<char>(header.size() / 256));
  const auto size = static_cast<std::streamsize>(info.GetElementCount() * static_cast<size_t>(kind->name[2] - '0'));
  out << header;
  out.write(static_cast<const char*>(value.GetTensorRawData()), size);
  if (!out.flush()) throw failure(file, "cannot be written");
}

std::vector<fs::path> folders(const fs::path& parent) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(parent))
    if (entry.is_directory()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

void run(const Job& job, Ort::Env& environment) {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1).SetInterOpNumThreads(1);
  options.SetGraphOptimizationLevel(job.exact ? GraphOptimizationLevel::ORT_DISABLE_ALL : GraphOptimizationLevel::ORT_ENABLE_ALL);
  if (job.precise) options.AddConfigEntry("session.x64quantprecision", "1");
  Ort::Session session(environment, job.model.c_str(), options);
  Ort::AllocatorWithDefaultOptions allocator;
  std::vector<Ort::AllocatedStringPtr> kept;
  std::vector<const char*> inputs, outputs;
  for (size_t i = 0; i < session.GetInputCount(); ++i)
    inputs.push_back(kept.emplace_back(session.GetInputNameAllocated(i, allocator)).get());
  for (size_t i = 0; i < session.GetOutputCount(); ++i)
    outputs.push_back(kept.emplace_back(session.GetOutputNameAllocated(i, allocator)).get());

  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  for (const auto& folder : folders(job.inputs)) {
    std::vector<Array> arrays;
    std::vector<Ort::Value> values;
    for (size_t i = 0; i < inputs.size(); ++i) arrays.push_back(read(folder / (std::to_string(i) + ".npy")));
    for (Array& a : arrays)
      values.push_back(Ort::Value::CreateTensor(memory, a.bytes.data(), a.bytes.size(), a.shape.data(), a.shape.size(), a.type));
    const auto results =
        session.Run(Ort::RunOptions{}, inputs.data(), values.data(), values.size(), outputs.data(), outputs.size());
    const fs::path out = job.out / folder.filename();
    fs::create_directories(out);
    for (size_t i = 0; i < results.size(); ++i) write(out / (std::to_string(i) + ".npy"), results[i]);
  }
}

std::optional<Job> parsed(const std::vector<std::string>& words) {
  Job job;
  std::vector<fs::path> paths;
  for (const auto& word : words) {
    if (word == "--exact")
      job.exact = true;
    else if (word == "--precise")
      job.precise = true;
    else
      paths.emplace_back(word);
  }
  if (paths.size() != 3) return std::nullopt;
  job.model = paths[0], job.inputs = paths[1], job.out = paths[2];
  return job;
}

// One line per model, so that a slow start under an emulator is paid once.
int run_list(const char* file, Ort::Env& environment) {
  std::ifstream lines(file);
  int failed = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    try {
      const auto job = parsed(words);
      if (!job) throw std::runtime_error("not MODEL INPUTS_FOLDER OUT_FOLDER: " + line);
      run(*job, environment);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "run_model: %s: %s\n", words.empty() ? "" : words[0].c_str(), error.what());
      failed = 1;
    }
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) try {
  Ort::Env environment(ORT_LOGGING_LEVEL_ERROR, "run_model");
  if (argc == 3 && std::strcmp(argv[1], "--list") == 0) return run_list(argv[2], environment);
  const auto job = parsed({argv + 1, argv + argc});
  if (!job) {
    std::fprintf(stderr, "usage: run_model MODEL INPUTS_FOLDER OUT_FOLDER [--exact] [--precise]\n       run_model --list FILE\n");
    return 1;
  }
  run(*job, environment);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "run_model: %s\n", error.what());
  return 1;
}
