// SPDX-License-Identifier: Apache-2.0
// Which operators and values of a float network get codes of 8 bits, and which stay float32.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/numerics/scale_rule.h"

namespace halftone::passes {

/// Which operators of a network compute with codes of 8 bits: all that can, or those wanted.
using WantsCodes = std::function<bool(const ir::Node&)>;

/// Whether an operator on these float32 values has a form for codes. A layer may have weights in
/// codes of int_narrow.
bool has_code_form(const ir::Graph& graph, const ir::Node& node);

/// Operators whose result has the codes of their input: it is one of its elements, or a mean.
bool keeps_codes(const ir::Graph& graph, const ir::Node& node);

/// The range that TensorFlow Lite prescribes for a result; none for most.
std::optional<numerics::ValueRange> prescribed_range(const ir::Operator& op);

/// The inputs whose elements are computed with, without weights, biases and constants.
std::vector<ir::ValueId> computed_inputs(const ir::Graph& graph, const ir::Node& node);

/// Which values have codes, and what these mean.
class CodePlan {
 public:
  CodePlan(const ir::Graph& graph, const WantsCodes& wanted);

  [[nodiscard]] bool computes(ir::NodeId id) const { return computing_.contains(id); }
  [[nodiscard]] bool has_codes(ir::ValueId id) const { return coded_.contains(id); }
  /// Whether the codes of a value are those of the input of its node.
  [[nodiscard]] bool keeps(ir::ValueId id) const { return keepers_.contains(id); }
  /// Whether a value is what a Concat joins in float32 that could have codes, perhaps moved: its
  /// smaller parts may be lost in codes.
  [[nodiscard]] bool is_joined_in_float(ir::ValueId id) const { return joined_.contains(id); }
  /// Values whose range decides.
  [[nodiscard]] std::vector<ir::ValueId> ranged() const;

 private:
  const ir::Graph& graph_;
  std::set<ir::NodeId> computing_;
  std::set<ir::ValueId> coded_;    ///< float32 values
  std::set<ir::ValueId> keepers_;  ///< of them, those that keep the codes of an input
  std::set<ir::ValueId> joined_;
};

/// The ratio of two magnitudes from which the smaller has fewer than 8 of the 256 codes of the
/// larger.
inline constexpr double kFarApart = 32;

/// What must not have codes of one scale, and what a person should know about it.
struct ApartRanges {
  std::set<std::string> float_nodes;  ///< names of operators that stay float32
  std::vector<std::string> notes;     ///< one line each
};

/// Finds each Concat that joins parts kFarApart or more, as boxes in pixels and scores: directly or
/// through operators that move elements and other Concats. It stays float32, and so do operators
/// other than layers that read its result. A sum of operands kFarApart has codes and a note.
/// @param wanted  operators that may compute with codes
/// @param ranges  of at least values_for_codes()
ApartRanges find_apart_ranges(const ir::Graph& graph, const WantsCodes& wanted,
                              const std::map<ir::ValueId, numerics::ValueRange>& ranges);

}  // namespace halftone::passes
