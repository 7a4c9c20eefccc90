// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_memory.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "halftone/base/memory.h"

namespace halftone::train {
namespace {

/// The size of a buffer of OpenBLAS: BUFFER_SIZE of its common_x86_64.h and common_arm64.h.
constexpr std::size_t kBufferBytes = std::size_t{128} << 20;

/// What a thread maps beside its stack: guard pages, its own variables.
constexpr std::size_t kThreadBytes = std::size_t{1} << 20;

/// A function of the BLAS library that libtorch uses; null if another library is installed.
template <typename Function>
Function* blas_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// The stack of a new thread.
std::size_t stack_bytes() {
  std::size_t bytes = std::size_t{8} << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return bytes;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace

void prepare_torch(std::size_t num_threads) {
  // libtorch starts a thread for each core even so, and waits for ever for one that cannot start.
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  require_address_space(cores * (stack_bytes() + kThreadBytes), "training: threads of libtorch");
  at::set_num_threads(1);
  auto* const set_num_threads = blas_function<void(int)>("openblas_set_num_threads");
  if (set_num_threads != nullptr) set_num_threads(1);
  auto* const take = blas_function<void*(int)>("blas_memory_alloc");
  auto* const give_back = blas_function<void(void*)>("blas_memory_free");
  if (take == nullptr || give_back == nullptr) return;
  std::vector<void*> buffers;
  const auto give_all_back = [&] {
    for (void* buffer : buffers) give_back(buffer);
  };
  try {
    while (buffers.size() < num_threads) {
      require_address_space(kBufferBytes, "training: buffers of OpenBLAS for " +
                                              std::to_string(num_threads) + " devices");
      buffers.push_back(take(0));
    }
  } catch (const Error&) {
    give_all_back();
    throw;
  }
  give_all_back();
}

bool is_lack_of_memory(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  return text.find("DefaultCPUAllocator") != text.npos || text.find("out of memory") != text.npos;
}

}  // namespace halftone::train
