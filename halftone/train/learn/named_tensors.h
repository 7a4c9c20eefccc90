// SPDX-License-Identifier: Apache-2.0
// The numbers that training changes, by name: what is kept of a run, and put back.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace halftone::train {

/// Numbers under a name that is theirs alone among those of their owner.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// What an owner such as Student or Optimizer hands out shares the owner's memory; a copy does not.
using NamedTensors = std::vector<NamedTensor>;

NamedTensors copy_of(const NamedTensors& state);
/// The same tensors, those of devices copied.
NamedTensors in_memory(const NamedTensors& state);
/// The same tensors under names that begin with `prefix`.
NamedTensors with_prefix(const std::string& prefix, const NamedTensors& state);
/// The tensors whose names begin with `prefix`, under the rest of their names.
NamedTensors without_prefix(const std::string& prefix, const NamedTensors& state);

/// Writes numbers into those of the same names.
/// @throws Error kFormat "'NAME': expected TYPE[EXTENTS], found ..." if one is missing or differs;
///         nothing is written then
void assign(const NamedTensors& into, const NamedTensors& from);

/// Whether no number is infinite or NaN.
bool is_finite(const NamedTensors& state);

}  // namespace halftone::train
