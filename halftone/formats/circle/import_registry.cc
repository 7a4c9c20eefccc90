// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

std::map<OperatorCode, ImportFunction> all_imports() {
  std::map<OperatorCode, ImportFunction> table;
  for (const auto family :
       {batch_space_imports(), convolution_imports(), elementwise_imports(), extend_imports(),
        layout_imports(), linear_imports(), lowbit_imports(), recurrent_imports(), reduce_imports(),
        svdf_imports(), variable_imports(), while_imports()}) {
    for (const ImportEntry& entry : family) table.emplace(entry.code, entry.import);
  }
  return table;
}

}  // namespace

std::vector<std::string> readable_operators() {
  std::vector<std::string> names;
  for (const auto& [code, import] : all_imports()) names.push_back(name_of(code));
  return names;
}

ImportFunction find_import(OperatorCode code) {
  static const std::map<OperatorCode, ImportFunction> table = all_imports();
  const auto found = table.find(code);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace halftone::formats::circle
