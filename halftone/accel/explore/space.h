// SPDX-License-Identifier: Apache-2.0
// What a search may choose: values of a description of hardware, and bits for each layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/types/hardware.hpp"

namespace halftone::accel {

using v0::BitPair;

using SettingValue = std::variant<std::int64_t, double, std::string>;

/// A value of a description: "clock_hz", "unit.NAME.KEY" or "memory.NAME.KEY".
struct Setting {
  std::string key;
  SettingValue value;
  bool operator==(const Setting&) const = default;
};
std::string to_string(const Setting& setting);             ///< "unit.array.count = 4"
std::string to_string(std::span<const Setting> settings);  ///< joined by ", "

/// Keys that change together: row i has one value for each key.
struct Parameter {
  std::vector<std::string> keys;
  std::vector<std::vector<SettingValue>> rows;
};

/// A part of the area: mm2 times the values of all keys.
struct AreaTerm {
  std::vector<std::string> of;
  double mm2 = 0;
};

/// The pairs of bits that layers of some names may have.
struct LayerBits {
  std::string pattern{};  ///< shell pattern: * ? [...]
  std::vector<BitPair> pairs{};
  std::string where{};  ///< for messages: file and line
};

/// Layers that get the same bits.
struct Tie {
  std::vector<std::string> patterns{};
  std::string where{};
};

struct Space {
  std::string accelerator;       ///< a name of shipped_accelerators(), or a file
  std::string accelerator_text;  ///< its description
  std::vector<Parameter> parameters;
  std::vector<AreaTerm> area;  ///< empty: the area of the description
  std::vector<BitPair> pairs;  ///< for all layers that `layers` does not name
  std::vector<LayerBits> layers;
  std::vector<Tie> ties;

  /// The number of combinations of parameters.
  [[nodiscard]] std::size_t num_hardware() const;
  /// The values of a combination; the last parameter changes fastest.
  [[nodiscard]] std::vector<Setting> settings(std::size_t hardware) const;
  /// The description with the values of a combination and the area that follows from them.
  /// @throws Error kUsage as parse_accelerator(), with the values in front
  [[nodiscard]] Accelerator hardware(std::size_t hardware) const;

  /// Pairs that a layer may have, ascending. Of several patterns that match the last one counts.
  [[nodiscard]] std::vector<BitPair> pairs_of(std::string_view layer) const;
  /// Pairs of any of the layers, ascending.
  [[nodiscard]] std::vector<BitPair> pairs_of(std::span<const std::string> layers) const;
  /// For each layer a number that tied layers share.
  /// @throws Error kUsage if a pattern matches no layer, or tied layers may have different bits
  [[nodiscard]] std::vector<std::size_t> ties_of(std::span<const std::string> layers) const;
};

/// The largest number of combinations of parameters.
inline constexpr std::size_t kMaxHardware = 100'000;

/// Reads a space; docs/explore.md has the keys. Also reads the description that it names.
/// @param name  put before messages, the file
/// @throws Error kUsage "NAME: line 3: ..." for unknown or missing keys, values of wrong types,
///         keys that the description lacks, and more than kMaxHardware combinations; as
///         load_accelerator()
Space parse_space(std::string_view toml_text, const std::string& name);

}  // namespace halftone::accel
