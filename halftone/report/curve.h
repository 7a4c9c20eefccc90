// SPDX-License-Identifier: Apache-2.0
// How a training went, as a table for programs and as a picture.
#pragma once

#include <string>
#include <vector>

#include "halftone/report/report.h"

namespace halftone::report {

/// A line of names, then one for each epoch: epoch,loss,agreement,held_out,rate,seconds. What there
/// is none of stays empty.
std::string to_csv(const std::vector<TrainSummary::Epoch>& epochs);

/// Two panels over the epochs: the loss, and the shares of right answers in percent, of the samples
/// trained on and of those held out. Numbers that are not finite are left out.
std::string to_svg(const std::vector<TrainSummary::Epoch>& epochs);

/// Ticks at multiples of 1, 2 or 5 times a power of ten that cover [low, high].
/// @param most  at most so many steps, >= 1
/// @return      rising, two at least; the first is <= low, the last >= high
std::vector<double> ticks(double low, double high, int most);

}  // namespace halftone::report
