// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/options.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::formats {
namespace {

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

}  // namespace

std::set<std::string> names_of(const ImportOptions& options) {
  std::set<std::string> names;
  for (const auto& [name, value] : options.constants) names.insert(name);
  for (const auto& [name, shape] : options.shapes) names.insert(name);
  return names;
}

void check_names(const ImportOptions& options, const std::set<std::string>& inputs,
                 std::set<std::string>* used) {
  for (const std::string& name : names_of(options)) {
    if (used != nullptr) {
      if (inputs.contains(name)) used->insert(name);
    } else if (!inputs.contains(name)) {
      fail(ErrorKind::kUsage, "input '" + name +
                                  "': the model has no such input to fix; its inputs are " +
                                  listed(inputs));
    }
  }
}

const ir::Shape* given_shape(const ImportOptions& options, const std::string& input,
                             std::size_t rank) {
  const auto found = options.shapes.find(input);
  if (found == options.shapes.end()) return nullptr;
  if (found->second.rank() != rank) {
    fail(ErrorKind::kUsage, "expected a shape of " + std::to_string(rank) + " axes, found " +
                                found->second.to_string());
  }
  return &found->second;
}

ir::Tensor exactly(const ir::Tensor& value, ir::ElementType element) {
  ir::Tensor result = value.cast(element);
  if (!std::ranges::equal(result.cast(value.element()).bytes(), value.bytes())) {
    fail(ErrorKind::kUsage, "the constant " + value.type().to_string() +
                                " has a value that is not exact in the type of the input, " +
                                std::string(to_string(element)));
  }
  return result;
}

ir::ValueId add_filled(ir::Graph& graph, const std::string& name, const ir::Tensor& scalar,
                       const ir::Shape& shape) {
  if (!shape.is_static()) {
    const ir::ValueId value = graph.add_constant(name + "/value", scalar.clone());
    return graph.add_node(name, ir::BroadcastTo{shape}, {value});
  }
  ir::Tensor filled(scalar.element(), shape);
  const auto source = scalar.bytes();
  for (std::size_t i = 0; i < filled.size(); ++i) {
    std::memcpy(filled.bytes().data() + i * source.size(), source.data(), source.size());
  }
  return graph.add_constant(name, std::move(filled));
}

}  // namespace halftone::formats
