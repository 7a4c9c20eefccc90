// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/fake_quantize.h"

#include "halftone/base/error.h"

namespace halftone::formats {
namespace {

const numerics::NumberSystem& known_system(const std::string& name) {
  try {
    return numerics::find_system(name);
  } catch (const Error& error) {
    fail(ErrorKind::kUnsupported, error.what());
  }
}

}  // namespace

FakeQuantizeFields fields_of(const ir::FakeQuantize& op) {
  return {std::string(op.system->name), op.bits, op.blocks.granularity,
          static_cast<std::int64_t>(op.blocks.group_size)};
}

ir::FakeQuantize fake_quantize_of(const FakeQuantizeFields& fields) {
  ir::FakeQuantize op;
  op.system = &known_system(fields.system);
  const bool has_bits = fields.bits >= 1 && fields.bits <= numerics::kMaxCodeBits;
  if (!has_bits || !op.system->allows(static_cast<int>(fields.bits))) {
    fail(ErrorKind::kFormat,
         "bits: " + std::to_string(fields.bits) + " are none of " + std::string(op.system->name));
  }
  if (fields.group_size < 0) {
    fail(ErrorKind::kFormat,
         "group_size: expected at least 0, found " + std::to_string(fields.group_size));
  }
  op.bits = static_cast<int>(fields.bits);
  op.blocks = {fields.granularity, static_cast<std::size_t>(fields.group_size)};
  return op;
}

}  // namespace halftone::formats
