// SPDX-License-Identifier: Apache-2.0
// The methods of multiplying inputs by weights.
#pragma once

#include <optional>
#include <string_view>

namespace halftone::runtime {

/// All methods with integers and levels give the same bits.
enum class Product {
  kBits,     ///< bit planes of the input by bit planes of the weights
  kPlanes,   ///< 8-bit integers by levels of at most 6 bits, bit by bit
  kNibbles,  ///< 8-bit integers by looked-up levels of at most 4 bits
  kBytes,    ///< 8-bit integers by levels of the weights
  kFloat,    ///< float32
};

/// "planes", as in tuning files.
std::string_view to_string(Product product);
/// The method of this name; nothing if there is none.
std::optional<Product> product_named(std::string_view name);

}  // namespace halftone::runtime
