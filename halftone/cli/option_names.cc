// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/option_names.h"

#include <string_view>

namespace halftone::cli {
namespace {

/// The option that changes the setting; empty for Hint::kNone.
std::string_view option_for(Hint hint) {
  switch (hint) {
    case Hint::kNone:
      return "";
    case Hint::kBatch:
      return "--batch";
    case Hint::kCheckpoint:
      return "--checkpoint";
    case Hint::kContext:
      return "--context";
    case Hint::kInputs:
      return "--input";
    case Hint::kIterations:
      return "--max-iterations";
    case Hint::kRecipe:
      return "--recipe";
    case Hint::kReference:
      return "--reference";
    case Hint::kResume:
      return "--resume";
    case Hint::kScale:
      return "--scale";
    case Hint::kTokenizer:
      return "--tokenizer";
    case Hint::kTemplate:
      return "--template";
  }
  return "";
}

}  // namespace

std::string message_with_option(const Error& error) {
  const std::string_view option = option_for(error.hint());
  if (option.empty()) return error.what();
  return std::string(error.what()) + " (" + std::string(option) + ")";
}

}  // namespace halftone::cli
