// SPDX-License-Identifier: Apache-2.0
// Writes a fitted network after a look at what its file computes.
#pragma once

#include <cstdint>
#include <filesystem>

#include "halftone/data/dataset.h"
#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"

namespace halftone {

/// Compares two networks on the first samples: without rounding of activations to 8 bits, since
/// forms of other runtimes compute in float32. Sums in another order may move single values of few
/// bits to the next level, which changes some samples; a wrong form changes all. So it compares the
/// quarter of the samples that differ least, by |found - expected| / |expected|.
/// @throws Error kUnsupported if these differ by more than a tenth
void check_same_outputs(const ir::Graph& found, const ir::Graph& expected,
                        const data::Dataset& data);

/// save() of a network that was fitted to samples: only if the file computes the same as the
/// network, as check_same_outputs() says. Networks above 256 MB are not compared.
/// @return bytes of the file and its external data
/// @throws Error as save() and check_same_outputs(); what was at the path is still there then
std::uintmax_t save_checked(const ir::Graph& network, const std::filesystem::path& path,
                            const formats::ExportOptions& form, const data::Dataset& data);

}  // namespace halftone
