// SPDX-License-Identifier: Apache-2.0
// How options name the numbers in which keys and values are kept.
#pragma once

#include <cstddef>
#include <string>

#include "halftone/base/error.h"
#include "halftone/ir/ops/sequence.h"

namespace halftone {

/// @throws Error kUsage "cache: expected one of float32, float16, int8, int6, int4, found 'int2'"
inline ir::CacheNumbers cache_named(const std::string& name) {
  std::string names;
  for (const auto each : ir::kCacheNumbers) {
    if (name == to_string(each)) return each;
    names.append(names.empty() ? "" : ", ").append(to_string(each));
  }
  fail(ErrorKind::kUsage, "cache: expected one of " + names + ", found '" + name + "'");
}

/// Bits of a number, without scales.
inline std::size_t cache_bits(ir::CacheNumbers cache) {
  switch (cache) {
    case ir::CacheNumbers::kFloat32:
      return 32;
    case ir::CacheNumbers::kFloat16:
      return 16;
    case ir::CacheNumbers::kInt8:
      return 8;
    case ir::CacheNumbers::kInt6:
      return 6;
    case ir::CacheNumbers::kInt4:
      return 4;
  }
  return 0;
}

}  // namespace halftone
