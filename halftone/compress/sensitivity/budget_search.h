// SPDX-License-Identifier: Apache-2.0
// Quantizes a network within budgets: predicts, quantizes, measures, corrects.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "halftone/compress/budget/allocation.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone::compress {

struct SearchOptions {
  Budget budget;
  MeasureSettings sensitivity{};  ///< its `costs` also measure whole networks
  /// Bytes of the file of a network.
  std::function<double(const ir::Graph& network)> file_bytes{};
  /// What no sum over layers gives, of a network with codes by rule, and its limit: the memory of
  /// values. Empty: none.
  std::function<double(const ir::Graph& network)> peak{};
  double peak_limit = 0;
  /// What `sensitivity.costs` is expected to find of a network with codes by rule, of what no run
  /// has to be measured for; empty: nothing. A limit that cannot be met is an error at once then.
  std::function<RunCosts(const ir::Graph& network, const std::vector<std::string>& layers)>
      rule_costs{};
  std::size_t tries = v0::kBudgetTries;  ///< networks that are quantized, at most
  std::size_t front = 24;                ///< budgets of the front, at most; 0: no front
};

/// A network that was quantized, and what it has.
struct TriedAllocation {
  Allocation predicted;
  PerMeasure<double> values{};  ///< measured; 0 of what was not
  bool is_within = false;
};

struct SearchResult {
  Sensitivity costs;
  std::vector<TriedAllocation> tries;
  std::size_t chosen = 0;         ///< index in `tries`
  Recipe recipe;                  ///< of the chosen one: an override for each layer that may change
  QuantizedGraph quantized;       ///< the chosen one
  std::vector<Allocation> front;  ///< predicted, with the corrections of the last try
};

/// Quantizes a float network with the choices that cost least within a budget.
///
/// Costs are those of sensitivity(). Sums of them are corrected by what networks are found to have:
/// files by the size of the network with codes by rule, before a fit; loss and time by those of the
/// networks that were quantized, of which each gives the next one a correction. A unit loses a
/// choice with which the peak is above its limit even if all others have the choice with the least;
/// then, while the peak of what was chosen is, the choice whose replacement by that lowers it most.
/// The best network within the budget is the result, so a budget is never exceeded by what was
/// measured.
/// @throws Error as sensitivity(), allocate() and quantize(); kUnsupported if no try is within the
///         budget: what the nearest had
SearchResult quantize_within(const ir::Graph& graph, const data::Dataset& data,
                             const Recipe& recipe, const std::vector<LayerChoice>& choices,
                             const SearchOptions& options);

}  // namespace halftone::compress
