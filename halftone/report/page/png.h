// SPDX-License-Identifier: Apache-2.0
// Small pictures inside a page.
#pragma once

#include <string>

#include "halftone/api/model_report.h"

namespace halftone::report::page {

/// A PNG file, 8 bits per channel. Its data is stored, not compressed: the bytes do not depend on a
/// library, and pictures of 64 pixels a side stay below 13 KB.
/// Source: PNG specification, third edition; RFC 1950 and 1951 (stored blocks).
std::string png(const SamplePicture& picture);

/// The address of a PNG file that contains it: "data:image/png;base64,...".
std::string data_address(const std::string& png);

}  // namespace halftone::report::page
