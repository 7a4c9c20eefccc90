// SPDX-License-Identifier: Apache-2.0
// How this module reports errors: as all that is inside, or, compiled as the library that others
// link, by the exception of the C++ API.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"

#ifdef HALFTONE_SPMD_LIBRARY

#include "halftone/error.hpp"

namespace halftone::spmd {

using Error = ::halftone::v0::Error;
using ErrorKind = ::halftone::v0::ErrorKind;

[[noreturn]] inline void fail(ErrorKind kind, const std::string& message,
                              Hint /*hint*/ = Hint::kNone) {
  throw Error(kind, message);
}

template <typename Body>
auto with_context(std::string_view context, Body&& body) -> decltype(std::forward<Body>(body)()) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    fail(error.kind(), std::string(context) + ": " + error.what());
  }
}

namespace internal {
inline Hint hint_of(const Error& /*error*/) { return Hint::kNone; }
}  // namespace internal

}  // namespace halftone::spmd

#else

namespace halftone::spmd::internal {
inline Hint hint_of(const Error& error) { return error.hint(); }
}  // namespace halftone::spmd::internal

#endif
