// SPDX-License-Identifier: Apache-2.0
// Quantities with a unit that leaves one to three digits before the point.
#pragma once

#include <cstdint>
#include <string>

namespace halftone::report {

std::string time_text(double seconds);  ///< "12.3 us"
/// "4.4x smaller", "1.3x larger", "as large": of sizes in bytes.
std::string size_change(std::uint64_t before, std::uint64_t after);
std::string energy_text(double joules);  ///< "4.56 mJ"
/// "float" for 32, else the number: "2", "3.5".
std::string bits_text(double bits);

}  // namespace halftone::report
