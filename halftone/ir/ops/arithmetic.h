// SPDX-License-Identifier: Apache-2.0
// What a layer computes, apart from how.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace halftone::ir {

/// The arithmetic of a layer with codes: it decides how results are rounded. An attribute of the
/// operators that read weights, which files store by name. The reference implementations compute on
/// decoded values and ignore it.
enum class Arithmetic : std::uint8_t {
  kAuto,      ///< as the rule says: arithmetic_by_rule()
  kBits,      ///< inputs and weights bit by bit, exactly; then the bases
  kIntegers,  ///< inputs and levels of the weights as 8-bit integers; then scales
  kGroups,    ///< inputs as 8-bit integers with a scale for neighbours, weights as the integers of
              ///< their groups; then scales: see kernels::multiply_groups()
  kFloat,     ///< decoded values in float32
};

/// "auto", "bits", "integers", "groups", "float"
std::string_view to_string(Arithmetic arithmetic);
/// The arithmetic with this name; nothing if there is none.
std::optional<Arithmetic> arithmetic_named(std::string_view name);

}  // namespace halftone::ir
