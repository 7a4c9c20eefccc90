// SPDX-License-Identifier: Apache-2.0
// Quantities with a unit that leaves one to three digits before the point.
#pragma once

#include <string>

namespace halftone::report {

std::string time_text(double seconds);   ///< "12.3 us"
std::string energy_text(double joules);  ///< "4.56 mJ"

}  // namespace halftone::report
