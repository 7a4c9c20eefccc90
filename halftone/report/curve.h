// SPDX-License-Identifier: Apache-2.0
// The course of a training, as CSV and as an SVG picture.
#pragma once

#include <string>
#include <vector>

#include "halftone/report/report.h"

namespace halftone::report {

/// A line of column names, then one line per epoch: epoch,loss,agreement,held_out,rate,seconds.
/// Missing values stay empty.
std::string to_csv(const std::vector<train::EpochResult>& epochs);

/// Two panels over the epochs: the loss, and the accuracy in percent on the training samples and on
/// the validation samples. Values that are not finite are omitted.
std::string to_svg(const std::vector<train::EpochResult>& epochs);

}  // namespace halftone::report
