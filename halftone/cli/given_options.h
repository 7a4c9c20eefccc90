// SPDX-License-Identifier: Apache-2.0
// Options that do nothing for a kind of model, and are refused.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace halftone::cli {

inline constexpr const char* kLanguageOnly = "only of language models";
inline constexpr const char* kNetworkOnly = "only of networks that are no language models";

/// The options of a verb from the one of this index on.
std::vector<CLI::Option*> options_from(CLI::App& verb, std::size_t first);
/// The first one that was given, or null.
const CLI::Option* given_of(const std::vector<CLI::Option*>& options);
/// @throws CLI::ValidationError "--depth: only of language models" of the first that was given
void refuse_given(const std::vector<CLI::Option*>& options, const std::string& reason);

}  // namespace halftone::cli
