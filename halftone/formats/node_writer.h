// SPDX-License-Identifier: Apache-2.0
// How exporters list the operators that they write.
#pragma once

#include "halftone/ir/graph.h"
#include "halftone/ir/operator_table.h"

namespace halftone::formats {

/// Adds what a node is in a file.
template <typename Exporter>
using NodeWriter = void (*)(Exporter& exporter, const ir::Node& node);

/// The entry of an operator in the table of its family.
/// @tparam write  throws Error kUnsupported if the format has nothing for the attributes
template <typename Exporter, typename Op,
          void (*write)(Exporter& exporter, const ir::Node& node, const Op& op)>
constexpr ir::OperatorEntry<NodeWriter<Exporter>> node_writer_entry() {
  return {ir::operator_index<Op>(), [](Exporter& exporter, const ir::Node& node) {
            write(exporter, node, std::get<Op>(node.op));
          }};
}

}  // namespace halftone::formats
