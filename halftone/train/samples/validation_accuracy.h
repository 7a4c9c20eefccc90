// SPDX-License-Identifier: Apache-2.0
// Accuracy on validation samples.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "halftone/spmd/devices.hpp"

namespace halftone::train {

/// Number of correctly classified samples; a sample may count in part. Called from several threads.
using CountRight = std::function<double(std::span<const std::size_t> samples)>;

/// The share of correctly classified samples; the same for any number of devices and ranks.
/// @param samples  at least one
/// @param lane     number of samples per call of num_right, on one thread
double validation_accuracy(std::span<const std::size_t> samples, std::size_t lane,
                           const spmd::Devices& devices, const CountRight& num_right);

}  // namespace halftone::train
