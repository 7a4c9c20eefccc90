// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "halftone/report/json.h"

namespace halftone::report {

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json bits_json(double bits) {
  return bits == std::floor(bits) ? Json(static_cast<int>(bits)) : Json(bits);
}

}  // namespace halftone::report
