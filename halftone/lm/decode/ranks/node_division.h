// SPDX-License-Identifier: Apache-2.0
// How ranks share the values of a graph, with the bits of one rank: the rows of matrices and the
// heads of attentions are divided, and what follows element by element. No sum ever is.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/lm/decode/ranks/division.h"

namespace halftone::lm {

struct DivideOptions {
  std::size_t ranks = 2;
  std::size_t min_rows = 32;  ///< smaller matrices are multiplied by all ranks
};

/// A node as ranks compute it.
struct NodeDivision {
  std::optional<Division> output{};  ///< nothing: all ranks compute all of it
  /// What is read of each input; nothing: all of it.
  std::vector<std::optional<Division>> inputs{};
};

/// How each value of a graph is divided.
class ValueDivisions {
 public:
  /// @param graph  must outlive this
  ValueDivisions(const ir::Graph& graph, const DivideOptions& options);

  [[nodiscard]] const NodeDivision& of(ir::NodeId id) const {
    return nodes_[static_cast<std::size_t>(id)];
  }
  /// How a value is divided where it is computed; nothing: ranks have all of it.
  [[nodiscard]] const std::optional<Division>& of(ir::ValueId id) const {
    return values_[static_cast<std::size_t>(id)];
  }

 private:
  /// What a value should be divided by, because a reader is: heads.
  struct Wish {
    std::vector<Range> ranges;  ///< of `units`
    std::size_t units = 0;
  };
  void add_wishes(const ir::Node& node);
  void wish(ir::ValueId id, const std::vector<Range>& ranges, std::size_t units);
  [[nodiscard]] const Wish& wish_for(ir::ValueId id) const {
    return wishes_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] NodeDivision divide(const ir::Node& node) const;

  template <typename Op>
  [[nodiscard]] NodeDivision divide(const Op& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide_product(const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::FullyConnected& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::ExpertProduct& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Unary& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Binary& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Rotary& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Normalize& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Reduce& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Reshape& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Slice& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Concat& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::AppendRows& op, const ir::Node& node) const;
  [[nodiscard]] NodeDivision divide(const ir::Attention& op, const ir::Node& node) const;

  [[nodiscard]] const ir::Shape& shape(ir::ValueId id) const { return graph_.value(id).type.shape; }
  /// All inputs and the output whole.
  static NodeDivision whole(const ir::Node& node) {
    return {.inputs = std::vector<std::optional<Division>>(node.inputs.size())};
  }
  /// The output as the first input, of which others are whole.
  [[nodiscard]] NodeDivision like_first(const ir::Node& node) const;
  [[nodiscard]] bool is_only_attended(ir::ValueId id) const;

  const ir::Graph& graph_;
  DivideOptions options_;
  std::vector<Wish> wishes_;  ///< by value
  std::vector<std::optional<Division>> values_;
  std::vector<NodeDivision> nodes_;
};

/// The operator as a rank computes its part.
ir::Operator part_of(const ir::Graph& graph, const ir::Node& node, const NodeDivision& division,
                     std::size_t rank);

}  // namespace halftone::lm
