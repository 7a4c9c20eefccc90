// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "halftone/report/fields.h"

namespace halftone::report {

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_of(const ResultFields& fields) {
  Json json = Json::object();
  for (const ResultField& each : fields) json[each.key] = each.value;
  return json;
}

Json bits_json(double bits) {
  return bits == std::floor(bits) ? Json(static_cast<int>(bits)) : Json(bits);
}

}  // namespace halftone::report
