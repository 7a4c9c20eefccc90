// SPDX-License-Identifier: Apache-2.0
// Estimates for people (tables, pictures) and scripts (JSON, traces).
#pragma once

#include <string>
#include <vector>

#include "halftone/api/estimate.h"

namespace halftone::report {

std::string to_text(const accel::Estimate& estimate);
std::string to_json(const accel::Estimate& estimate);

std::string to_text(const v0::LanguageEstimate& estimate);
std::string to_json(const v0::LanguageEstimate& estimate);

std::string to_text(const std::vector<accel::Executed>& executed);
std::string to_json(const std::vector<accel::Executed>& executed);

/// A roofline plot: products per second over products per byte of the outermost memory, both axes
/// logarithmic, a dot for each operation, a roof for each pair of formats that it multiplies.
/// Source: Williams et al., Roofline, CACM 52 (2009).
std::string roofline_svg(const accel::Estimate& estimate, const accel::Accelerator& accelerator);

/// What memories and units do over time, one lane each.
std::string timeline_svg(const accel::Estimate& estimate);
/// The same as trace events, which Perfetto and chrome://tracing show.
std::string timeline_trace(const accel::Estimate& estimate);

}  // namespace halftone::report
