// SPDX-License-Identifier: Apache-2.0
// Fits networks whose extents are open: with the numbers of samples, and back.
#pragma once

#include <optional>
#include <string>

#include "halftone/api/network.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/extent.h"

namespace halftone {

/// A network with open extents, prepared, and the same with the numbers that samples show. What is
/// made of the second gets the extents of the first again, so that its file runs at any size.
class OpenForm {
 public:
  /// @pre    is_open(network), which has no reader
  /// @throws Error as with_samples() and prepared()
  OpenForm(const Network& network, const data::Dataset& data, Purpose purpose);

  [[nodiscard]] const ir::Graph& filled() const { return filled_; }

  /// A graph that grew from filled(), with open extents. Nodes with extents as attributes have the
  /// names of those that they are copies of.
  /// @throws Error kUnsupported if a node has extents that no node of the network had; kShape if
  ///         the open extents do not fit
  [[nodiscard]] ir::Graph reopened(ir::Graph graph) const;

 private:
  ir::Graph open_;
  ir::Graph filled_;  ///< nodes and values have the ids of open_
  ir::Sizes sizes_;
};

/// The form in which a network with open extents is quantized; nothing for others, and for those
/// that have a reader.
/// @throws Error as OpenForm()
std::optional<OpenForm> open_form(const Network& network, const data::Dataset& data);

/// Gives a graph that grew from the form its open extents again, if that is possible.
/// @return a line that says why not; nothing without a form
std::optional<std::string> reopen(const std::optional<OpenForm>& form, ir::Graph& graph);

}  // namespace halftone
