// SPDX-License-Identifier: Apache-2.0
// What results say, for classes and documents that are made of it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace halftone::report {

/// The keys of results in their order, each with its sentence without a full stop (empty: the key
/// says it), by the class that the result is in Python.
std::map<std::string, std::vector<std::pair<std::string, std::string>>> result_classes();

}  // namespace halftone::report
