// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/option_names.h"

#include <string_view>

namespace halftone::cli {
namespace {

/// Advice at the end of a library message, and the matching option.
struct Advice {
  std::string_view ending;
  std::string_view after;  ///< the part of the ending that the option follows
  std::string_view option;
};

constexpr Advice kAdvice[] = {
    {"check the network and the scale of the pixels", "scale of the pixels", " (--scale)"},
    {"give a reference network to compare with", "compare with", " (--reference)"},
    {"go on from it, or remove it", "go on from it", " with --resume"},
};

}  // namespace

std::string with_option_names(std::string message) {
  for (const Advice& advice : kAdvice) {
    if (!message.ends_with(advice.ending)) continue;
    const std::size_t begin = message.size() - advice.ending.size();
    message.insert(begin + advice.ending.find(advice.after) + advice.after.size(), advice.option);
    break;
  }
  return message;
}

}  // namespace halftone::cli
