// SPDX-License-Identifier: Apache-2.0
// A layer for OpenCL's loader (OPENCL_LAYERS) that loses the device: from the launch or copy with
// number HALFTONE_FAIL_AT on, all fail; without it none. Names as the loader asks for them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::int32_t kLost = -36;  // CL_INVALID_COMMAND_QUEUE
// Positions in a table of functions, struct _cl_icd_dispatch of CL/cl_icd.h.
constexpr std::size_t kReadBuffer = 48;
constexpr std::size_t kWriteBuffer = 49;
constexpr std::size_t kLaunch = 59;

using Function = void (*)();

std::vector<Function>& functions() {
  static std::vector<Function> all;
  return all;
}
Function real[kLaunch + 1];

/// Counts a call that uses the device. @return  whether it is lost
bool is_lost() {
  static long calls = 0;
  const char* limit = std::getenv("HALFTONE_FAIL_AT");
  return limit != nullptr && ++calls >= std::atol(limit);
}

/// A copy or a launch.
template <std::size_t kPosition, typename... Arguments>
std::int32_t call(Arguments... arguments) {
  using Any = std::int32_t (*)(Arguments...);
  return is_lost() ? kLost : reinterpret_cast<Any>(real[kPosition])(arguments...);
}

/// Nine arguments, which are integers or pointers.
template <std::size_t kPosition>
void replace() {
  real[kPosition] = functions()[kPosition];
  functions()[kPosition] = reinterpret_cast<Function>(
      &call<kPosition, long, long, long, long, long, long, long, long, long>);
}

}  // namespace

extern "C" {

std::int32_t clGetLayerInfo(std::uint32_t /*name*/, std::size_t bytes, void* value,
                            std::size_t* bytes_out) {
  constexpr std::uint32_t kVersion = 100;  // CL_LAYER_API_VERSION_100, of CL_LAYER_API_VERSION
  if (value != nullptr && bytes >= sizeof kVersion) *static_cast<std::uint32_t*>(value) = kVersion;
  if (bytes_out != nullptr) *bytes_out = sizeof kVersion;
  return 0;
}

std::int32_t clInitLayer(std::uint32_t count, const Function* target, std::uint32_t* count_out,
                         const Function** table) {
  functions().assign(target, target + count);
  replace<kReadBuffer>();
  replace<kWriteBuffer>();
  replace<kLaunch>();
  *count_out = count;
  *table = functions().data();
  return 0;
}
}
