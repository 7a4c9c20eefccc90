// SPDX-License-Identifier: Apache-2.0
// Fits networks whose extents are open: with the numbers of samples, and back.
#pragma once

#include <optional>
#include <string>

#include "halftone/api/network.h"
#include "halftone/compress/feed.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/extent.h"

namespace halftone {

/// A network with open extents, prepared, and the same with the numbers that samples show. What is
/// made of the second gets the extents of the first again, so that its file runs at any size.
class OpenForm {
 public:
  /// @pre    is_open(network), which has no refusal
  /// @param data  samples of one size or several; filled() has the extents of the first
  /// @throws Error as with_samples() and prepared(); kShape with the index of a sample if the
  ///         network does not fit one of the sizes
  OpenForm(const Network& network, const data::Dataset& data, Purpose purpose);

  [[nodiscard]] const ir::Graph& filled() const { return filled_; }

  /// A graph that grew from filled(), with open extents. Nodes with extents as attributes have the
  /// names of those that they are copies of.
  /// @throws Error kUnsupported if a node has extents that no node of the network had; kShape if
  ///         the open extents do not fit
  [[nodiscard]] ir::Graph reopened(ir::Graph graph) const;

  /// A graph that grew from filled(), also beside another one, with the extents of other samples.
  /// @param samples  of one size
  /// @throws Error as reopened() and with_samples()
  [[nodiscard]] ir::Graph resized(ir::Graph graph, const data::Dataset& samples) const;

 private:
  Network network_;
  ir::Graph open_;
  ir::Graph filled_;  ///< nodes and values have the ids of open_
  ir::Sizes sizes_;
};

/// A network that is prepared for samples, and what gives graphs that grow from it the extents of
/// other samples; nothing if all have one size.
struct SizedGraph {
  ir::Graph graph;
  compress::Resize resize{};
};

/// @throws Error as with_samples(), prepared() and OpenForm(); kUnsupported if samples have several
///         sizes, and the network is read with numbers
SizedGraph prepared_for(const Network& network, const data::Dataset& data, Purpose purpose);

/// The form in which a network with open extents is quantized; nothing for others, and for those
/// that have a refusal.
/// @throws Error as OpenForm()
std::optional<OpenForm> open_form(const Network& network, const data::Dataset& data);

/// What gives graphs that grow from the form the extents of samples; nothing if there is no form,
/// or samples have one size. @param form  outlives the result
compress::Resize resize_of(const std::optional<OpenForm>& form, const data::Dataset& data);

/// Gives a graph that grew from the form its open extents again, if that is possible.
/// @return a line that says why not; nothing without a form
std::optional<std::string> reopen(const std::optional<OpenForm>& form, ir::Graph& graph);

}  // namespace halftone
