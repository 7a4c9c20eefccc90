// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/tensor_json.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "halftone/base/base64.h"
#include "halftone/base/error.h"

namespace halftone::server {
namespace {

static_assert(std::endian::native == std::endian::little);

[[noreturn]] void fail_input(const std::string& name, const std::string& what) {
  throw RequestError(400, "input '" + name + "': " + what, "inputs");
}

/// Elements of a sample, if the batch leads and nothing else is open.
std::optional<std::size_t> sample_size(const ir::Shape& shape) {
  if (shape.rank() == 0 || shape[0] != ir::kBatch) return std::nullopt;
  std::size_t size = 1;
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
    if (shape[axis] <= 0) return std::nullopt;
    size *= static_cast<std::size_t>(shape[axis]);
  }
  return size;
}

/// The shape of a number of elements that a value takes in any nesting; else as they are nested.
ir::Shape shape_for(const ir::ValueType& type, std::size_t count, std::vector<ir::Dim> nested) {
  const auto sample = sample_size(type.shape);
  const bool fits = sample && *sample != 0 && count % *sample == 0 && count != 0;
  if (!fits || nested.size() == type.shape.rank()) return ir::Shape(std::move(nested));
  const auto dims = type.shape.dims();
  std::vector<ir::Dim> shape(dims.begin(), dims.end());
  shape[0] = static_cast<ir::Dim>(count / *sample);
  return ir::Shape(std::move(shape));
}

/// Numbers in lists in each other.
class Lists {
 public:
  explicit Lists(const std::string& name) : name_(name) {}

  void read(const Json& value, std::size_t depth = 0) {
    if (!value.is_array()) {
      if (depth != shape.size()) fail_lists();
      add(value);
      return;
    }
    if (depth == shape.size()) {
      if (!numbers.empty() || !integers.empty() || depth > kMaxRank) fail_lists();
      shape.push_back(static_cast<ir::Dim>(value.size()));
    }
    if (shape[depth] != static_cast<ir::Dim>(value.size()) || value.empty()) fail_lists();
    for (const Json& each : value) read(each, depth + 1);
  }

  std::vector<ir::Dim> shape;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;  ///< the same, if the input has such
  bool is_float = true;

 private:
  static constexpr std::size_t kMaxRank = 16;

  [[noreturn]] void fail_lists() const {
    fail_input(name_, "expected numbers in lists in each other, those of a level of one length");
  }
  void add(const Json& value) {
    if (is_float) {
      const double number = value.is_number() ? value.get<double>() : NAN;
      if (!(std::abs(number) <= std::numeric_limits<float>::max())) {
        fail_input(name_, "expected finite numbers of float32, found " + dump(value).substr(0, 40));
      }
      numbers.push_back(static_cast<float>(number));
    } else {
      const bool is_good = value.is_boolean() || value.is_number_integer();
      if (!is_good) fail_input(name_, "expected integers, found " + dump(value).substr(0, 40));
      integers.push_back(value.is_boolean() ? std::int64_t{value.get<bool>()}
                                            : value.get<std::int64_t>());
    }
  }
  const std::string& name_;
};

ir::Tensor tensor_of_raw(std::string_view bytes, const ir::Value& value,
                         std::optional<std::vector<ir::Dim>> shape) {
  const ir::ElementType element = value.type.encoding.element;
  const std::size_t each = size_bytes(element);
  if (bytes.empty() || bytes.size() % each != 0) {
    fail_input(value.name, "expected elements of " + std::to_string(each) + " bytes, found " +
                               std::to_string(bytes.size()) + " bytes");
  }
  const std::size_t count = bytes.size() / each;
  const ir::Shape found = shape ? ir::Shape(std::move(*shape))
                                : shape_for(value.type, count, {static_cast<ir::Dim>(count)});
  try {
    ir::Tensor tensor(element, found);
    if (tensor.bytes().size() != bytes.size()) {
      fail_input(value.name, "expected " + std::to_string(tensor.bytes().size()) +
                                 " bytes of the shape " + found.to_string() + ", found " +
                                 std::to_string(bytes.size()));
    }
    std::memcpy(tensor.bytes().data(), bytes.data(), bytes.size());
    return tensor;
  } catch (const Error& error) {
    fail_input(value.name, error.what());
  }
}

ir::Tensor packed_tensor(const Json& given, const ir::Value& value) {
  const Json data = given.value("data", Json());
  const auto bytes =
      data.is_string() ? from_base64(data.get_ref<const std::string&>()) : std::nullopt;
  if (!bytes) fail_input(value.name, "data: expected base64");
  const Json shape = given.value("shape", Json());
  if (shape.is_null()) return tensor_of_raw(*bytes, value, std::nullopt);
  const auto is_extent = [](const Json& each) {
    return each.is_number_unsigned() && each.get<std::uint64_t>() >= 1 &&
           each.get<std::uint64_t>() <= std::uint64_t{1} << 40U;
  };
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), is_extent)) {
    fail_input(value.name, "shape: expected a list of extents");
  }
  return tensor_of_raw(*bytes, value, shape.get<std::vector<ir::Dim>>());
}

ir::Tensor tensor_of(const Json& given, const ir::Value& value) {
  if (given.is_object()) return packed_tensor(given, value);
  Lists lists(value.name);
  const ir::ElementType element = value.type.encoding.element;
  lists.is_float = !is_integer(element) && element != ir::ElementType::kBool;
  lists.read(given);
  const std::size_t count = std::max(lists.numbers.size(), lists.integers.size());
  const ir::Shape shape = shape_for(value.type, count, lists.shape);
  return lists.is_float ? ir::Tensor::from<float>(shape, lists.numbers).cast(element)
                        : ir::Tensor::from<std::int64_t>(shape, lists.integers).cast(element);
}

std::vector<ir::Tensor> list_of(ir::Tensor tensor) {
  std::vector<ir::Tensor> list;
  list.push_back(std::move(tensor));
  return list;
}

const ir::Value& only_input(const ir::Graph& graph) {
  const std::vector<ir::ValueId> inputs = graph.untied(graph.inputs());
  if (inputs.size() == 1) return graph.value(inputs[0]);
  throw RequestError(400,
                     "expected {\"inputs\": {\"NAME\": ...}}: the network has " +
                         std::to_string(inputs.size()) + " inputs",
                     "inputs");
}

/// Numbers in lists as the shape says.
Json lists_of(std::span<const Json> numbers, std::span<const ir::Dim> shape) {
  if (shape.empty()) return numbers[0];
  Json list = Json::array();
  const auto count = static_cast<std::size_t>(shape[0]);
  const std::size_t each = count == 0 ? 0 : numbers.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(lists_of(numbers.subspan(i * each, each), shape.subspan(1)));
  }
  return list;
}

std::vector<Json> numbers_of(const ir::Tensor& tensor) {
  std::vector<Json> numbers;
  if (is_integer(tensor.element()) || tensor.element() == ir::ElementType::kBool) {
    const ir::Tensor all = tensor.cast(ir::ElementType::kInt64);
    for (const std::int64_t x : std::as_const(all).as<std::int64_t>()) numbers.emplace_back(x);
    return numbers;
  }
  const ir::Tensor all = tensor.cast(ir::ElementType::kFloat32);
  for (const float x : std::as_const(all).as<float>()) {
    numbers.push_back(std::isfinite(x) ? Json(x) : Json());
  }
  return numbers;
}

}  // namespace

std::vector<ir::Tensor> tensors_of_json(const Json& request, const ir::Graph& graph) {
  const auto one = request.find("input");
  if (one != request.end()) return list_of(tensor_of(*one, only_input(graph)));
  const Json inputs = request.value("inputs", Json());
  if (!inputs.is_object()) {
    throw RequestError(400, "inputs: expected an object with a tensor for each input", "inputs");
  }
  std::vector<ir::Tensor> tensors;
  for (const ir::ValueId id : graph.untied(graph.inputs())) {
    const ir::Value& value = graph.value(id);
    const auto found = inputs.find(value.name);
    if (found == inputs.end()) fail_input(value.name, "expected a tensor, found none");
    tensors.push_back(tensor_of(*found, value));
  }
  if (tensors.size() != inputs.size()) {
    throw RequestError(400,
                       "inputs: expected " + std::to_string(tensors.size()) + " tensors, found " +
                           std::to_string(inputs.size()),
                       "inputs");
  }
  return tensors;
}

std::vector<ir::Tensor> tensor_of_npy(std::string_view body, const ir::Graph& graph) {
  const ir::Value& value = only_input(graph);
  try {
    return list_of(read_tensor(std::as_bytes(std::span(body)), value.type.encoding.element));
  } catch (const Error& error) {
    fail_input(value.name, error.what());
  }
}

std::vector<ir::Tensor> tensor_of_bytes(std::string_view body, const ir::Graph& graph) {
  return list_of(tensor_of_raw(body, only_input(graph), std::nullopt));
}

Json json_of_tensors(const std::vector<ir::Tensor>& outputs, const ir::Graph& graph, bool packs) {
  Json all = Json::object();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ir::Tensor& tensor = outputs[i];
    const auto bytes = tensor.bytes();
    Json json = {{"type", std::string(to_string(tensor.element()))}, {"shape", Json::array()}};
    for (const ir::Dim extent : tensor.shape().dims()) json["shape"].push_back(extent);
    json["data"] =
        packs ? Json(to_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
              : lists_of(numbers_of(tensor), tensor.shape().dims());
    all[graph.value(graph.outputs()[i]).name] = std::move(json);
  }
  return {{"outputs", std::move(all)}};
}

}  // namespace halftone::server
