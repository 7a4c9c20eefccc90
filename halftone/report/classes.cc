// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/classes.h"

#include "halftone/report/fields.h"

namespace halftone::report {

std::map<std::string, std::vector<std::pair<std::string, std::string>>> result_classes() {
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> classes;
  for (const auto results : {network_results, sensitivity_results, budget_results, language_results,
                             hardware_results, training_results}) {
    for (const auto& [name, fields] : results()) {
      for (const ResultField& each : fields) classes[name].emplace_back(each.key, each.text);
    }
  }
  return classes;
}

}  // namespace halftone::report
