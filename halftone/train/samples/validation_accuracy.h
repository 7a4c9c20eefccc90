// SPDX-License-Identifier: Apache-2.0
// How well something does on samples it is not trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "halftone/spmd/devices.h"

namespace halftone::train {

/// How many of some samples are answered rightly. Called from several threads.
using CountRight = std::function<std::int64_t(std::span<const std::size_t> samples)>;

/// The share of samples that are answered rightly: the same for any number of devices and ranks.
/// @param samples  at least one
/// @param lane     how many of them are asked for at once, on one thread
double validation_accuracy(std::span<const std::size_t> samples, std::size_t lane,
                           const spmd::Devices& devices, const CountRight& num_right);

}  // namespace halftone::train
