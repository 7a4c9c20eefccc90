// SPDX-License-Identifier: Apache-2.0
// Histograms of weights and of layer inputs, with the levels they are rounded to. Private to this
// folder.
#pragma once

#include <optional>

#include "halftone/api/model_report.h"
#include "halftone/compress/fit/histogram.h"
#include "halftone/ir/tensor.h"
#include "halftone/numerics/encoding.h"

namespace halftone {

struct BinOptions {
  std::size_t max_bins = 64;
  bool omits_zeros = false;  ///< whether values of exactly zero are counted apart
};

/// The counts in fewer bins. A fine bin counts where its middle is.
ValueHistogram binned(const compress::Histogram& fine, const BinOptions& options = {});

/// A histogram of weights and the levels of their codes, if they have any. Where each block has
/// levels of its own, values and levels are relative to those: see ValueHistogram::is_relative.
/// @param constant   what the network stores
/// @param reference  float32 weights of the same shape to count instead; may be null
/// @return           nothing for weights without finite float values
std::optional<ValueHistogram> weight_histogram(const ir::Constant& constant,
                                               const ir::Tensor* reference,
                                               const BinOptions& options = {});

/// Adds the levels of a tensor with one block, and the thresholds between them.
void add_levels(ValueHistogram& histogram, const numerics::MatrixEncoding& encoding);

}  // namespace halftone
