// SPDX-License-Identifier: Apache-2.0
// The documents of a text.
#pragma once

#include <string_view>
#include <vector>

namespace halftone::lm {

/// Divides a text at the strongest border that it has somewhere between two lines with text:
///  1. before a title of a wiki article, a line such as " = Title = ";
///  2. two blank lines or more;
///  3. one blank line.
/// Lines of white space are blank. A text without borders is one document, an empty one has none.
/// @return  the documents in their order, which together are the text
std::vector<std::string_view> split_documents(std::string_view text);

}  // namespace halftone::lm
