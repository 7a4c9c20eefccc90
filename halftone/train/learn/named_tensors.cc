// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/named_tensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <sstream>

#include "halftone/base/error.h"

namespace halftone::train {
namespace {

std::string type_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << tensor.sizes();
  return text.str();
}

const at::Tensor& tensor_for(const NamedTensor& wanted, const NamedTensors& from) {
  const auto found = std::ranges::find(from, wanted.name, &NamedTensor::name);
  const std::string type = type_of(wanted.tensor);
  if (found == from.end()) {
    fail(ErrorKind::kFormat, "'" + wanted.name + "': expected " + type + ", found nothing");
  }
  if (type_of(found->tensor) != type) {
    fail(ErrorKind::kFormat,
         "'" + wanted.name + "': expected " + type + ", found " + type_of(found->tensor));
  }
  return found->tensor;
}

}  // namespace

NamedTensors in_memory(const NamedTensors& state) {
  NamedTensors result = state;
  for (NamedTensor& each : result) each.tensor = each.tensor.cpu();
  return result;
}

NamedTensors copy_of(const NamedTensors& state) {
  NamedTensors copy = state;
  for (NamedTensor& each : copy) each.tensor = each.tensor.detach().clone();
  return copy;
}

NamedTensors with_prefix(const std::string& prefix, const NamedTensors& state) {
  NamedTensors result = state;
  for (NamedTensor& each : result) each.name.insert(0, prefix);
  return result;
}

NamedTensors without_prefix(const std::string& prefix, const NamedTensors& state) {
  NamedTensors result;
  for (const NamedTensor& each : state) {
    if (!each.name.starts_with(prefix)) continue;
    result.push_back({each.name.substr(prefix.size()), each.tensor});
  }
  return result;
}

void assign(const NamedTensors& into, const NamedTensors& from) {
  std::vector<at::Tensor> numbers;
  for (const NamedTensor& each : into) numbers.push_back(tensor_for(each, from));
  for (std::size_t i = 0; i < into.size(); ++i) into[i].tensor.detach().copy_(numbers[i]);
}

bool is_finite(const NamedTensors& state) {
  return std::ranges::all_of(state, [](const NamedTensor& each) {
    return !each.tensor.is_floating_point() || each.tensor.detach().isfinite().all().item<bool>();
  });
}

}  // namespace halftone::train
