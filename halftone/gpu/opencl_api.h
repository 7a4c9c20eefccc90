// SPDX-License-Identifier: Apache-2.0
// The functions of OpenCL 1.2 that Halftone calls, as its specification declares them, found in the
// loader of drivers (libOpenCL.so.1) when first asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/gpu/shared_library.h"

namespace halftone::gpu::opencl {

struct Platform;
struct DeviceId;
struct Context;
struct Queue;
struct Memory;
struct ProgramId;
struct KernelId;
struct EventId;

using Status = std::int32_t;  ///< 0: success
using Bits = std::uint64_t;

inline constexpr Status kSuccess = 0;
inline constexpr Bits kAllDevices = 0xFFFFFFFF;
inline constexpr Bits kProfiling = 2;
inline constexpr Bits kReadWrite = 1;
inline constexpr std::uint32_t kBlocking = 1;

// Properties of devices.
inline constexpr std::uint32_t kType = 0x1000;
inline constexpr std::uint32_t kComputeUnits = 0x1002;
inline constexpr std::uint32_t kMaxGroupThreads = 0x1004;
inline constexpr std::uint32_t kFloatConfig = 0x101B;
inline constexpr std::uint32_t kGlobalBytes = 0x101F;
inline constexpr std::uint32_t kDoubleConfig = 0x1032;
inline constexpr std::uint32_t kName = 0x102B;
inline constexpr std::uint32_t kDriverVersion = 0x102D;
inline constexpr std::uint32_t kLanguageVersion = 0x103D;
inline constexpr std::uint32_t kPlatformVersion = 0x0901;
inline constexpr std::uint32_t kPlatformName = 0x0902;
inline constexpr Bits kProcessor = 2;  ///< of kType
// Bits of kFloatConfig.
inline constexpr Bits kHasDenormals = 1;
inline constexpr Bits kHasNan = 2;
inline constexpr Bits kRoundsToNearest = 4;
inline constexpr Bits kRoundsQuotients = 0x80;
// Properties of programs and events.
inline constexpr std::uint32_t kBinarySizes = 0x1165;
inline constexpr std::uint32_t kBinaries = 0x1166;
inline constexpr std::uint32_t kBuildLog = 0x1183;
inline constexpr std::uint32_t kEventEnd = 0x1283;

struct Functions {
  SharedLibrary library;

  Status (*platforms)(std::uint32_t, Platform**, std::uint32_t*) = nullptr;
  Status (*platform_info)(Platform*, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  Status (*devices)(Platform*, Bits, std::uint32_t, DeviceId**, std::uint32_t*) = nullptr;
  Status (*device_info)(DeviceId*, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  Context* (*new_context)(const void*, std::uint32_t, DeviceId* const*, void*, void*,
                          Status*) = nullptr;
  Status (*release_context)(Context*) = nullptr;
  Queue* (*new_queue)(Context*, DeviceId*, Bits, Status*) = nullptr;
  Status (*release_queue)(Queue*) = nullptr;
  Memory* (*new_buffer)(Context*, Bits, std::size_t, void*, Status*) = nullptr;
  Status (*release_buffer)(Memory*) = nullptr;
  Status (*write_buffer)(Queue*, Memory*, std::uint32_t, std::size_t, std::size_t, const void*,
                         std::uint32_t, EventId* const*, EventId**) = nullptr;
  Status (*read_buffer)(Queue*, Memory*, std::uint32_t, std::size_t, std::size_t, void*,
                        std::uint32_t, EventId* const*, EventId**) = nullptr;
  ProgramId* (*new_program)(Context*, std::uint32_t, const char**, const std::size_t*,
                            Status*) = nullptr;
  ProgramId* (*load_program)(Context*, std::uint32_t, DeviceId* const*, const std::size_t*,
                             const unsigned char**, Status*, Status*) = nullptr;
  Status (*build)(ProgramId*, std::uint32_t, DeviceId* const*, const char*, void*, void*) = nullptr;
  Status (*build_info)(ProgramId*, DeviceId*, std::uint32_t, std::size_t, void*,
                       std::size_t*) = nullptr;
  Status (*program_info)(ProgramId*, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  Status (*release_program)(ProgramId*) = nullptr;
  KernelId* (*new_kernel)(ProgramId*, const char*, Status*) = nullptr;
  Status (*release_kernel)(KernelId*) = nullptr;
  Status (*set_argument)(KernelId*, std::uint32_t, std::size_t, const void*) = nullptr;
  Status (*launch)(Queue*, KernelId*, std::uint32_t, const std::size_t*, const std::size_t*,
                   const std::size_t*, std::uint32_t, EventId* const*, EventId**) = nullptr;
  Status (*marker)(Queue*, std::uint32_t, EventId* const*, EventId**) = nullptr;
  Status (*wait)(std::uint32_t, EventId* const*) = nullptr;
  Status (*event_info)(EventId*, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  Status (*release_event)(EventId*) = nullptr;
  Status (*finish)(Queue*) = nullptr;

  /// Whether the loader is there and has all of these.
  [[nodiscard]] bool are_usable() const { return library.is_loaded() && library.missing().empty(); }
};

/// Loads the loader of drivers the first time.
const Functions& functions();

}  // namespace halftone::gpu::opencl
