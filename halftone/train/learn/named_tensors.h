// SPDX-License-Identifier: Apache-2.0
// The state of training as named tensors, to be saved and restored.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace halftone::train {

/// A tensor with a name that is unique within its owner.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// Tensors from an owner such as Student or Optimizer share its memory; copy_of() does not.
using NamedTensors = std::vector<NamedTensor>;

NamedTensors copy_of(const NamedTensors& state);
/// The same tensors, copied to main memory if they are on a device.
NamedTensors in_memory(const NamedTensors& state);
/// The same tensors with `prefix` before their names.
NamedTensors with_prefix(const std::string& prefix, const NamedTensors& state);
/// The tensors whose names begin with `prefix`, with the prefix removed.
NamedTensors without_prefix(const std::string& prefix, const NamedTensors& state);

/// Copies values into the tensors of the same names.
/// @throws Error kFormat "'NAME': expected TYPE[EXTENTS], found ..." if a tensor is missing or
///         differs; nothing is written then
void assign(const NamedTensors& into, const NamedTensors& from);

/// Whether no value is infinite or NaN.
bool is_finite(const NamedTensors& state);

}  // namespace halftone::train
