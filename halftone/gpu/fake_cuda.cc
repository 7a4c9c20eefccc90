// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace fake_cuda {
namespace {

using Status = int;
using Address = std::uint64_t;
constexpr Status kInvalidValue = 1;
constexpr Status kCaptureUnsupported = 900;

/// A launch with the values that its arguments had.
struct Launched {
  std::string kernel;
  std::vector<std::uint64_t> arguments;
};
struct Stream {
  bool captures = false;
  std::vector<Launched> captured;
};
using Graph = std::vector<Launched>;

struct Failure {
  int status = 0;
  int after = 0;
};

struct State {
  std::vector<std::string> calls;
  std::map<std::string, Failure> failures;
  std::map<std::string, std::string> kernels;  ///< whose addresses are functions
  std::map<const void*, std::shared_ptr<void>> objects;
  int context = 0;  ///< how often it is retained
};
State& state() {
  static State here;
  return here;
}

/// Remembers a call. @return  its status
Status called(const std::string& function, const std::string& what = "") {
  state().calls.push_back(what.empty() ? function : function + " " + what);
  const auto found = state().failures.find(function);
  if (found == state().failures.end() || found->second.after-- > 0) return 0;
  const Status status = found->second.status;
  state().failures.erase(found);
  return status;
}

std::size_t num_arguments(const std::string& kernel) {
  return std::strtoul(kernel.c_str() + kernel.rfind('_') + 1, nullptr, 10);
}

void execute(const Launched& launched) {
  auto* list = reinterpret_cast<std::uint32_t*>(launched.arguments[0]);
  std::uint32_t sum = 0;
  for (std::size_t i = 1; i < launched.arguments.size(); ++i) {
    sum = sum * 31 + static_cast<std::uint32_t>(launched.arguments[i]);
  }
  list[++list[0]] = sum;
}

template <typename T>
Status made(T** object, Status status) {
  if (status != 0) return status;
  const auto owned = std::make_shared<T>();
  *object = owned.get();
  state().objects.emplace(owned.get(), owned);
  return 0;
}
Status gone(const void* object, Status status) {
  state().objects.erase(object);
  return status;
}

}  // namespace

std::vector<std::string>& calls() { return state().calls; }
void fail(const std::string& function, int status, int after) {
  state().failures[function] = {status, after};
}
std::size_t num_objects() {
  return state().objects.size() + static_cast<std::size_t>(state().context);
}

}  // namespace fake_cuda

using fake_cuda::Address;
using fake_cuda::called;
using fake_cuda::Graph;
using fake_cuda::Launched;
using fake_cuda::state;
using fake_cuda::Status;
using fake_cuda::Stream;

extern "C" {

Status cuInit(unsigned) { return 0; }
Status cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}
Status cuGetErrorString(Status status, const char** text) {
  *text = status == 719 ? "unspecified launch failure" : "some error";
  return 0;
}
Status cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
Status cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
Status cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "a card of tests", static_cast<std::size_t>(size));
  return 0;
}
Status cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{1} << 30;
  return 0;
}
Status cuDeviceGetAttribute(int* value, int which, int) {
  *value = which == 75 ? 9 : which == 76 ? 0 : 4;
  return 0;
}
Status cuDevicePrimaryCtxRetain(int** context, int) {
  const Status status = called("cuDevicePrimaryCtxRetain");
  if (status == 0) ++state().context;
  *context = &state().context;
  return status;
}
Status cuDevicePrimaryCtxRelease_v2(int) {
  --state().context;
  return 0;
}
Status cuCtxSetCurrent(int*) { return 0; }
Status cuStreamCreate(Stream** stream, unsigned) {
  return fake_cuda::made(stream, called("cuStreamCreate"));
}
Status cuStreamDestroy_v2(Stream* stream) { return fake_cuda::gone(stream, 0); }
Status cuStreamSynchronize(Stream* stream) {
  if (stream->captures) return fake_cuda::kCaptureUnsupported;
  return called("cuStreamSynchronize");
}
Status cuMemAlloc_v2(Address* address, std::size_t bytes) {
  const Status status = called("cuMemAlloc_v2", std::to_string(bytes));
  if (status != 0) return status;
  const auto owned = std::make_shared<std::vector<std::uint64_t>>(bytes / 8 + 1);
  *address = reinterpret_cast<Address>(owned->data());
  state().objects.emplace(owned->data(), owned);
  return 0;
}
Status cuMemFree_v2(Address address) {
  return fake_cuda::gone(reinterpret_cast<const void*>(address), 0);
}
Status cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream* stream) {
  if (stream->captures) return fake_cuda::kCaptureUnsupported;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return called("cuMemcpyHtoDAsync_v2");
}
Status cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream* stream) {
  if (stream->captures) return fake_cuda::kCaptureUnsupported;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return called("cuMemcpyDtoHAsync_v2");
}
Status cuModuleLoadData(int** module, const void*) {
  return fake_cuda::made(module, called("cuModuleLoadData"));
}
Status cuModuleUnload(int* module) { return fake_cuda::gone(module, 0); }
Status cuModuleGetFunction(const std::string** function, int*, const char* name) {
  if (std::string(name).rfind("append_", 0) != 0) return 500;
  *function = &state().kernels.emplace(name, name).first->second;
  return 0;
}
Status cuLaunchKernel(const std::string* function, unsigned x, unsigned y, unsigned,
                      unsigned threads, unsigned, unsigned, unsigned, Stream* stream,
                      void** arguments, void**) {
  const Status status =
      called("cuLaunchKernel", *function + " " + std::to_string(x) + "x" + std::to_string(y) + "x" +
                                   std::to_string(threads));
  if (status != 0) return status;
  if (x == 0 || y == 0 || threads == 0) return fake_cuda::kInvalidValue;
  Launched launched{*function, {}};
  // The first argument is an address; others are read as numbers of four bytes.
  for (std::size_t i = 0; i < fake_cuda::num_arguments(*function); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, arguments[i], i == 0 ? 8 : 4);
    launched.arguments.push_back(value);
  }
  if (stream->captures) {
    stream->captured.push_back(launched);
  } else {
    fake_cuda::execute(launched);
  }
  return 0;
}
Status cuEventCreate(int** event, unsigned) {
  return fake_cuda::made(event, called("cuEventCreate"));
}
Status cuEventDestroy_v2(int* event) { return fake_cuda::gone(event, 0); }
Status cuEventRecord(int*, Stream*) { return called("cuEventRecord"); }
Status cuEventSynchronize(int*) { return called("cuEventSynchronize"); }
Status cuEventElapsedTime(float* milliseconds, int*, int*) {
  *milliseconds = 2;
  return called("cuEventElapsedTime");
}

#ifndef WITHOUT_GRAPHS
Status cuStreamBeginCapture_v2(Stream* stream, int mode) {
  const Status status = called("cuStreamBeginCapture_v2", std::to_string(mode));
  if (status != 0) return status;
  stream->captures = true;
  stream->captured.clear();
  return 0;
}
Status cuStreamEndCapture(Stream* stream, Graph** graph) {
  const Status status = called("cuStreamEndCapture");
  if (!stream->captures) return fake_cuda::kInvalidValue;
  stream->captures = false;
  *graph = nullptr;
  if (fake_cuda::made(graph, status) != 0) return status;
  **graph = stream->captured;
  return 0;
}
Status cuGraphInstantiateWithFlags(Graph** executable, Graph* graph, unsigned long long) {
  if (fake_cuda::made(executable, called("cuGraphInstantiateWithFlags")) != 0) return 2;
  **executable = *graph;
  return 0;
}
Status cuGraphDestroy(Graph* graph) { return fake_cuda::gone(graph, called("cuGraphDestroy")); }
Status cuGraphExecDestroy(Graph* executable) {
  return fake_cuda::gone(executable, called("cuGraphExecDestroy"));
}
Status cuGraphLaunch(Graph* executable, Stream*) {
  const Status status = called("cuGraphLaunch");
  if (status != 0) return status;
  for (const Launched& each : *executable) fake_cuda::execute(each);
  return 0;
}
#endif

}  // extern "C"
