// SPDX-License-Identifier: Apache-2.0
// Runs a network with its layers of bits on memristive crossbars.
#pragma once

#include <optional>
#include <string>

#include "halftone/accel/crossbar/network.h"
#include "halftone/api/network.h"
#include "halftone/types/hardware.hpp"

namespace halftone {

/// @param description  a name of crossbar::device_names(), the path of a TOML file, or the text of
///                     one
/// @param seconds      from programming to reading, in place of those of the description
/// @throws Error as crossbar::load_device()
crossbar::CrossbarDevice device_of(const std::string& description, std::optional<double> seconds);

/// How a network runs on crossbars.
crossbar::NetworkOptions options_of(const v0::CrossbarOptions& options,
                                    const ProgressSink& progress, const spmd::Devices& devices);

struct CrossbarReport {
  crossbar::CrossbarDevice device;
  crossbar::NetworkResult result;
};

/// Accuracy over several programmed devices, and what the arrays cost. Integer inputs and outputs
/// become float32.
/// @param options  its names are those of the network
/// @throws Error as prepared() and crossbar::evaluate()
CrossbarReport run_on_crossbar(Network network, const data::Dataset& data,
                               const crossbar::CrossbarDevice& device,
                               crossbar::NetworkOptions options = {});

}  // namespace halftone
