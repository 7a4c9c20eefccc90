// SPDX-License-Identifier: Apache-2.0
// Rounding to a number system with scales computed at run time, as stored in all our formats. Input
// 0 is x, the output has its shape; see ir::FakeQuantize.
#pragma once

#include <cstdint>
#include <string>

#include "halftone/ir/operator.h"

namespace halftone::formats {

/// Fields of the operator in files.
struct FakeQuantizeFields {
  std::string system;  ///< a name of numerics::find_system()
  std::int64_t bits = 0;
  numerics::Granularity granularity = numerics::Granularity::kTensor;
  std::int64_t group_size = 0;  ///< 0 unless kGroup
};

/// Calls visit(name, field) for every field, with its name in files, in file order.
template <typename Fields, typename Visit>
void for_each_fake_quantize_field(Fields& fields, Visit&& visit) {
  visit("system", fields.system);
  visit("bits", fields.bits);
  visit("granularity", fields.granularity);
  visit("group_size", fields.group_size);
}

FakeQuantizeFields fields_of(const ir::FakeQuantize& op);
/// @throws Error kFormat if a field is out of range; kUnsupported if there is no such number system
ir::FakeQuantize fake_quantize_of(const FakeQuantizeFields& fields);

}  // namespace halftone::formats
