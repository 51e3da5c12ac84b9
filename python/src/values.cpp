#include "values.hpp"

#include "quasar/base/error.hpp"

namespace quasar::python {
namespace {

struct Kind {
  DataType type;
  char kind;  // NumPy's
  py::ssize_t size;
  const char* name;
};

const Kind kinds[] = {
    {DataType::float32, 'f', 4, "float32"}, {DataType::float64, 'f', 8, "float64"}, {DataType::float16, 'f', 2, "float16"},
    {DataType::int8, 'i', 1, "int8"},       {DataType::int16, 'i', 2, "int16"},     {DataType::int32, 'i', 4, "int32"},
    {DataType::int64, 'i', 8, "int64"},     {DataType::uint8, 'u', 1, "uint8"},     {DataType::uint16, 'u', 2, "uint16"},
    {DataType::uint32, 'u', 4, "uint32"},   {DataType::uint64, 'u', 8, "uint64"},   {DataType::boolean, 'b', 1, "bool"}};

// Throws Error for types that no model takes.
const Kind& kind_of(const py::array& array) {
  const py::dtype dtype = array.dtype();
  for (const Kind& kind : kinds) {
    if (kind.kind != dtype.kind() || kind.size != dtype.itemsize()) continue;
    if (dtype.byteorder() == '>') throw Error("an array of big-endian numbers; convert it with array.astype('=f4')");
    return kind;
  }
  throw Error("an array of type " + py::str(dtype).cast<std::string>() + " cannot feed a model");
}

Shape shape_of(const py::array& array) {
  return {array.shape(), array.shape() + array.ndim()};
}

}  // namespace

py::object to_python(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
    case Json::value_t::discarded:
      return py::none();
    case Json::value_t::boolean:
      return py::bool_(value.get<bool>());
    case Json::value_t::number_integer:
      return py::int_(value.get<int64_t>());
    case Json::value_t::number_unsigned:
      return py::int_(value.get<uint64_t>());
    case Json::value_t::number_float:
      return py::float_(value.get<double>());
    case Json::value_t::string:
      return py::str(value.get_ref<const std::string&>());
    case Json::value_t::array: {
      py::list list;
      for (const auto& item : value) list.append(to_python(item));
      return list;
    }
    case Json::value_t::object: {
      py::dict dict;
      for (const auto& [key, item] : value.items()) dict[py::str(key)] = to_python(item);
      return dict;
    }
    case Json::value_t::binary:
      break;
  }
  throw Error("a value of an unknown kind");
}

Json to_json(py::handle value) {
  if (value.is_none()) return nullptr;
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::int_>(value)) return value.cast<int64_t>();
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (py::isinstance<py::dict>(value)) {
    Json out = Json::object();
    for (const auto& [key, item] : value.cast<py::dict>()) out[py::str(key).cast<std::string>()] = to_json(item);
    return out;
  }
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    Json out = Json::array();
    for (const auto& item : value) out.push_back(to_json(item));
    return out;
  }
  throw py::type_error("a configuration cannot hold " + py::repr(value).cast<std::string>());
}

py::array to_numpy(const Tensor& given) {
  const Tensor tensor = given.type() == DataType::bfloat16 ? converted(given, DataType::float32) : given;
  for (const Kind& kind : kinds) {
    if (kind.type != tensor.type()) continue;
    const py::capsule owner(new Tensor(tensor), [](void* last) { delete static_cast<Tensor*>(last); });
    py::array array(py::dtype(kind.name), std::vector<py::ssize_t>(tensor.shape().begin(), tensor.shape().end()),
                    tensor.bytes().data(), owner);
    py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
    return array;
  }
  throw Error("NumPy has no array for values of type " + std::string(name_of(tensor.type())));
}

Tensor to_tensor(const py::array& given) {
  const py::array array = py::array::ensure(given, py::array::c_style | py::array::forcecast);
  return Tensor::copy(kind_of(array).type, shape_of(array), array.data(), static_cast<size_t>(array.nbytes()));
}

Tensor to_shared_tensor(const py::array& given) {
  const bool aligned = (given.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
  if ((given.flags() & py::array::c_style) == 0 || !aligned) return to_tensor(given);
  return {kind_of(given).type, shape_of(given), std::make_shared<const Held>(given), given.data()};
}

std::pair<std::string, std::string> described(py::error_already_set& error) {
  const py::gil_scoped_acquire lock;
  const py::object format = py::module_::import("traceback").attr("format_exception");
  const py::object value = error.value();
  const py::object lines = format(error.type(), value, error.trace() ? py::object(error.trace()) : py::object(py::none()));
  const std::string name = error.type().attr("__name__").cast<std::string>();
  const std::string message = py::str(value).cast<std::string>();
  return {message.empty() ? name : name + ": " + message, py::str("").attr("join")(lines).cast<std::string>()};
}

}  // namespace quasar::python
