// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver interface (libcuda.so.1) and of NVRTC that Halftone calls, found
// when first asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/gpu/shared_library.h"

namespace halftone::gpu::cuda {

using Status = int;  ///< 0: success
using Device = int;
using Address = std::uint64_t;
struct Context;
struct Module;
struct Function;
struct Stream;
struct Event;
struct Graph;
struct Executable;

inline constexpr int kUnits = 16;  ///< attributes of devices
inline constexpr int kMajor = 75;
inline constexpr int kMinor = 76;
inline constexpr int kOfThisThread = 1;  ///< which calls a capture refuses

struct Driver {
  SharedLibrary library;

  Status (*init)(unsigned) = nullptr;
  Status (*version)(int*) = nullptr;
  Status (*error_text)(Status, const char**) = nullptr;
  Status (*device_count)(int*) = nullptr;
  Status (*device)(Device*, int) = nullptr;
  Status (*name)(char*, int, Device) = nullptr;
  Status (*memory)(std::size_t*, Device) = nullptr;
  Status (*attribute)(int*, int, Device) = nullptr;
  Status (*retain)(Context**, Device) = nullptr;
  Status (*release)(Device) = nullptr;
  Status (*set_context)(Context*) = nullptr;
  Status (*new_stream)(Stream**, unsigned) = nullptr;
  Status (*free_stream)(Stream*) = nullptr;
  Status (*wait_stream)(Stream*) = nullptr;
  Status (*allocate)(Address*, std::size_t) = nullptr;
  Status (*release_memory)(Address) = nullptr;
  Status (*write)(Address, const void*, std::size_t, Stream*) = nullptr;
  Status (*read)(void*, Address, std::size_t, Stream*) = nullptr;
  Status (*load)(Module**, const void*) = nullptr;
  Status (*unload)(Module*) = nullptr;
  Status (*function)(Function**, Module*, const char*) = nullptr;
  Status (*launch)(Function*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Stream*, void**, void**) = nullptr;
  Status (*new_event)(Event**, unsigned) = nullptr;
  Status (*free_event)(Event*) = nullptr;
  Status (*record)(Event*, Stream*) = nullptr;
  Status (*wait_event)(Event*) = nullptr;
  Status (*elapsed)(float*, Event*, Event*) = nullptr;

  // Graphs, of CUDA 11.4 and later.
  Status (*begin_capture)(Stream*, int) = nullptr;
  Status (*end_capture)(Stream*, Graph**) = nullptr;
  Status (*instantiate)(Executable**, Graph*, unsigned long long) = nullptr;
  Status (*free_graph)(Graph*) = nullptr;
  Status (*free_executable)(Executable*) = nullptr;
  Status (*launch_graph)(Executable*, Stream*) = nullptr;

  [[nodiscard]] bool is_usable() const { return library.is_loaded() && library.missing().empty(); }
  [[nodiscard]] bool has_graphs() const {
    return begin_capture != nullptr && end_capture != nullptr && instantiate != nullptr &&
           free_graph != nullptr && free_executable != nullptr && launch_graph != nullptr;
  }
};

struct CompilerProgram;

struct Compiler {
  SharedLibrary library;

  Status (*version)(int*, int*) = nullptr;
  Status (*new_program)(CompilerProgram**, const char*, const char*, int, const char* const*,
                        const char* const*) = nullptr;
  Status (*free_program)(CompilerProgram**) = nullptr;
  Status (*compile)(CompilerProgram*, int, const char* const*) = nullptr;
  Status (*log_size)(CompilerProgram*, std::size_t*) = nullptr;
  Status (*log)(CompilerProgram*, char*) = nullptr;
  Status (*binary_size)(CompilerProgram*, std::size_t*) = nullptr;
  Status (*binary)(CompilerProgram*, char*) = nullptr;

  [[nodiscard]] bool is_usable() const { return library.is_loaded() && library.missing().empty(); }
};

/// Loads libcuda.so.1 the first time.
const Driver& driver();
/// Loads libnvrtc.so the first time.
const Compiler& compiler();

}  // namespace halftone::gpu::cuda
