// SPDX-License-Identifier: Apache-2.0
// A description of a memristive crossbar: arrays, cells, converters, costs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::crossbar {

/// How the conductance of a cell deviates from its target after programming. With level
/// x = target / on_siemens, the standard deviation is, as a fraction of on_siemens:
enum class Programming {
  kNone,          ///< 0
  kConstant,      ///< sigma
  kProportional,  ///< sigma x
  kPcm,           ///< a polynomial of degree 2, see noise.h
  kReram,         ///< a polynomial of degree 4 for some ages, see noise.h
};

/// How the conductance decreases with the age t of a cell: g(t) = g (t / start_seconds)^-nu.
enum class Drift {
  kNone,
  kPower,  ///< nu is normal with mean `exponent` and standard deviation `spread`, and at least 0
  kPcm,    ///< mean and deviation depend on the level, see noise.h
};

/// Fluctuation of a conductance when it is read.
enum class ReadNoise {
  kNone,
  kConstant,  ///< normal, fresh for each read, of standard deviation sigma on_siemens per cell
  kPcm,       ///< 1/f noise accumulated since programming: one value per cell, see noise.h
};

/// What an analogue-to-digital converter converts.
enum class Converts {
  kColumn,      ///< the current of a column minus that of a reference column of cells that are off
  kDifference,  ///< the current of the first column of a pair minus that of the second
};

/// Currents become codes: code = clamp(round(current / step)).
struct Converter {
  int bits = 8;
  /// Fraction of the largest current, that of all rows in use, which the range covers; currents
  /// beyond it are clipped.
  double range = 1;
  Converts converts = Converts::kColumn;
  std::size_t per_array = 1;  ///< converters that work at the same time
  /// Whether each array has its own gain, which brings its counts with a pulse on all rows closest
  /// to the wanted ones. It makes up for the mean drift of cells and the mean loss along wires.
  bool calibrated = false;
};

/// What a read costs.
struct Costs {
  double cell_joules = 0;        ///< of a cell, per read of its array
  double conversion_joules = 0;  ///< per conversion
  double conversion_seconds = 0;
};

/// A crossbar. Conductances in siemens, resistances in ohms, times in seconds.
struct CrossbarDevice {
  std::string name;
  // Arrays.
  std::size_t rows = 128;
  std::size_t columns = 128;
  double segment_ohms = 0;  ///< of a wire between two neighbouring cells; 0: ideal wires
  // Cells.
  int levels = 2;  ///< conductances that a cell is programmed to, evenly spaced; a power of two
  double on_siemens = 1e-4;
  double off_siemens = 0;
  double stuck_on = 0;   ///< fraction of cells that always have on_siemens
  double stuck_off = 0;  ///< fraction of cells that always have off_siemens
  // Noise.
  double seconds = 20;  ///< from programming to reading
  Programming programming = Programming::kNone;
  double programming_sigma = 0;  ///< see Programming
  double programming_scale = 1;  ///< multiplies the standard deviation of every model
  Drift drift = Drift::kNone;
  double drift_exponent = 0;
  double drift_spread = 0;
  double drift_start_seconds = 20;
  ReadNoise read_noise = ReadNoise::kNone;
  double read_sigma = 0;
  // Periphery.
  Converter adc;
  Costs costs;

  /// Planes of weight bits that a cell holds.
  [[nodiscard]] int cell_bits() const;
  /// Whether results depend on a seed.
  [[nodiscard]] bool is_random() const;
  /// Whether conductances are exactly those of the levels and wires are ideal.
  [[nodiscard]] bool is_ideal() const;
  /// @throws Error kUsage "'KEY': expected ..., found ..." if a field is out of range or
  ///         contradicts another
  void check() const;
};

/// The settings that change what cells represent, as text: equal devices have equal texts.
std::string cell_settings(const CrossbarDevice& device);

/// Reads a description in TOML; docs/crossbar.md has the keys.
/// @param where  the file, for messages
/// @throws Error kUsage "WHERE: line N: ..." for malformed text, an unknown key, a missing key, a
///         value out of range, and keys that contradict each other
CrossbarDevice parse_device(std::string_view text, const std::string& where);

/// The names of the descriptions that the library contains: "ideal", "pcm", "reram".
std::vector<std::string_view> device_names();
/// A description that the library contains, or one in a file.
/// @param name_or_path  a name of device_names(), or the path of a file
/// @throws Error kUsage as parse_device(); kIo if the name is unknown and no file has this path
CrossbarDevice load_device(const std::string& name_or_path);

}  // namespace halftone::crossbar
