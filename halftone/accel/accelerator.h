// SPDX-License-Identifier: Apache-2.0
// Hardware as a description: compute units, memories, links, overheads. All numbers in SI units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/accel/workload.h"

namespace halftone::accel {

/// How a compute unit multiplies, which says how its rate depends on the bits of both factors.
enum class UnitKind : std::uint8_t {
  kSystolic,   ///< rows x columns cells that pass operands on; cycles as in systolic.h
  kVector,     ///< lanes without a fixed place for operands
  kBitSerial,  ///< one bit of each factor at a time: the rate is divided by Kw Ka
  kLookup,     ///< tables of partial sums, one bit of the weights at a time: divided by Kw
};

/// Which operand stays in the cells of a systolic array.
enum class Dataflow : std::uint8_t { kOutputStationary, kWeightStationary, kInputStationary };

std::string_view to_string(UnitKind kind);      ///< "systolic", "vector", "bit-serial", "lookup"
std::string_view to_string(Dataflow dataflow);  ///< "output-stationary", ...

/// A pair of formats that a unit multiplies, and how fast.
struct Rate {
  int weight_bits = 32;  ///< weights of at most this many bits
  int input_bits = 32;
  bool is_float = false;    ///< takes floats; else integers and codes only
  bool takes_codes = true;  ///< integers and codes too
  double per_cycle = 1;     ///< products per cycle: of a cell of a systolic array, else of the unit
};

/// Compute units of one kind.
struct ComputeUnit {
  std::string name;
  UnitKind kind = UnitKind::kVector;
  std::size_t count = 1;
  double clock_hz = 0;
  std::size_t rows = 1;  ///< cells of a systolic array
  std::size_t columns = 1;
  Dataflow dataflow = Dataflow::kOutputStationary;
  /// The smallest piece of a product that a unit computes at once. Extents are rounded up to it.
  std::size_t tile_rows = 1;
  std::size_t tile_columns = 1;
  std::size_t tile_inner = 1;
  std::size_t tile_channels = 1;  ///< to which the channels of each tap are rounded up before
  /// The lowest of the tiles that programs choose from, each twice as high as the one before, up to
  /// tile_rows; 0: tile_rows alone.
  std::size_t least_tile_rows = 0;
  std::vector<Rate> rates;
  double operations_per_cycle = 0;     ///< additions and the like of a unit; 0: only products
  double operations_per_function = 0;  ///< what exp, tanh, a quotient cost in operations
  double efficiency = 1;               ///< the share of the peak that programs reach, up to 1
  double pj_per_product = 0;           ///< of one pair of factors with 8 bits each, see energy_pj()
  double pj_per_operation = 0;

  /// The row of `rates` for a pair of factors: the fastest one that takes both; null if none does.
  [[nodiscard]] const Rate* rate(const Number& weights, const Number& inputs) const;
  /// Products per cycle and unit at full use, 0 if the unit does not take the factors. For
  /// bit-serial and lookup units the row's per_cycle counts products of single bits.
  [[nodiscard]] double products_per_cycle(const Number& weights, const Number& inputs) const;
  /// The rows of the tile that a program takes: the lowest one with room for all rows.
  [[nodiscard]] std::size_t tile_height(std::size_t product_rows) const;
  /// Whether units that have no tile of their own share the inner extent of others' tiles. Where
  /// there are tiles of several heights, programs do so with the lowest one only: products of a
  /// matrix and few rows wait for weights, and all units have to load them.
  [[nodiscard]] bool shares_inner(std::size_t product_rows) const;
  /// The inner extent of a product, rounded up to tiles of channels, then of the unit.
  [[nodiscard]] std::size_t rounded_inner(const Product& product) const;
  /// Energy of one product: pj_per_product Kw Ka / 64.
  /// Source: multipliers grow with the product of the widths; Horowitz, Computing's energy problem,
  /// ISSCC 2014, Fig. 1.1.9 (8 and 32 bits).
  [[nodiscard]] double product_pj(const Number& weights, const Number& inputs) const;
};

/// A memory, shared by all units or one for each.
struct Memory {
  std::string name;
  std::size_t count = 1;        ///< instances: 1 shared by all, or one for each unit or group
  double bytes = 0;             ///< of an instance
  double bytes_per_second = 0;  ///< of all instances together
  double efficiency = 1;        ///< the share of the bandwidth that programs reach, up to 1
  double latency_s = 0;         ///< of the first byte
  double pj_per_byte = 0;
  bool double_buffered = true;    ///< loads while units compute; halves the room for a tile
  std::vector<TensorRole> holds;  ///< the tensors it may hold; empty: all

  [[nodiscard]] double bandwidth() const { return bytes_per_second * efficiency; }
  [[nodiscard]] bool may_hold(TensorRole role) const;
  /// The bytes of a tile that fits beside the next one.
  [[nodiscard]] double tile_bytes() const { return double_buffered ? bytes / 2 : bytes; }
};

enum class Topology : std::uint8_t { kRing, kFullyConnected };
std::string_view to_string(Topology topology);  ///< "ring", "fully-connected"

/// What joins several chips.
struct ChipLink {
  Topology topology = Topology::kRing;
  double bytes_per_second = 0;  ///< of a chip, in each direction, over all its links
  double efficiency = 1;
  double latency_s = 0;  ///< of a message
  double pj_per_byte = 0;
};

/// What joins the host with the chip.
struct HostLink {
  double bytes_per_second = 0;
  double latency_s = 0;
};

/// What holds for some operators only: software around the hardware.
struct OperatorRule {
  static constexpr std::string_view kAll = "*";
  /// "Conv", "DepthwiseConv", "FullyConnected", "Softmax", ...; kAll: every one.
  std::vector<std::string> operators;
  std::optional<int> weight_bits{};  ///< of this width only
  std::optional<int> input_bits{};
  double overhead_s = 0;  ///< of each operation: launch, set-up
  double passes = 0;  ///< over inputs and outputs in the outermost memory; 0: reads one, writes one
  double efficiency = 1;         ///< the share of the unit's reachable peak
  double s_per_input_byte = 0;   ///< work that is no product: packing, unfolding windows
  double s_per_weight_byte = 0;  ///< of weights that are unpacked, whatever the rows
  double s_per_output = 0;       ///< of an element: activation, scales, rounding
  /// Of an addition and the like on an element, in place of the rate of the vector units.
  std::optional<double> s_per_operation{};
};

/// A chip and what is around it.
struct Accelerator {
  std::string name;
  std::string source;      ///< where the numbers are from
  std::string comparison;  ///< the error measured against real hardware; empty: not measured
  double clock_hz = 0;
  double area_mm2 = 0;
  double idle_w = 0;    ///< power that flows all the time
  double active_w = 0;  ///< and beside it while a network runs: leakage of hot silicon, clocks
  std::vector<ComputeUnit> units;
  std::vector<Memory> memories;  ///< outermost first
  std::optional<ChipLink> link{};
  std::optional<HostLink> host{};
  std::vector<OperatorRule> rules;

  /// The last rule that names the operator and its bits; a default one if none does.
  [[nodiscard]] OperatorRule rule(const Operation& operation) const;
};

/// Reads a description.
/// @param name  put before messages, the file
/// @throws Error kUsage "NAME: line 3: ..." for unknown or missing keys, numbers out of range, and
///         contradictions: no unit, no memory, a smaller memory outside a larger one, a unit
///         without a rate, two parts of one name, a rule for no operator, keys that would say
///         nothing
Accelerator parse_accelerator(std::string_view toml_text, const std::string& name);

/// A description as a file, which parse_accelerator() reads back.
std::string to_toml(const Accelerator& accelerator);

/// The names of the descriptions that are part of the program.
std::vector<std::string> shipped_accelerators();

/// A description of the program by name, or else a file.
/// @throws Error kUsage if there is neither; as parse_accelerator()
Accelerator load_accelerator(const std::string& name_or_path);
/// The text of a description, likewise.
std::string accelerator_text(const std::string& name_or_path);

}  // namespace halftone::accel
