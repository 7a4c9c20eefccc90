// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/cuda_api.h"

namespace halftone::gpu::cuda {
namespace {

Driver load_driver() {
  Driver d{.library = SharedLibrary({"libcuda.so.1"})};
  SharedLibrary& in = d.library;
  in.find("cuInit", d.init);
  in.find("cuDriverGetVersion", d.version);
  in.find("cuGetErrorString", d.error_text);
  in.find("cuDeviceGetCount", d.device_count);
  in.find("cuDeviceGet", d.device);
  in.find("cuDeviceGetName", d.name);
  in.find("cuDeviceTotalMem_v2", d.memory);
  in.find("cuDeviceGetAttribute", d.attribute);
  in.find("cuDevicePrimaryCtxRetain", d.retain);
  in.find("cuDevicePrimaryCtxRelease_v2", d.release);
  in.find("cuCtxSetCurrent", d.set_context);
  in.find("cuStreamCreate", d.new_stream);
  in.find("cuStreamDestroy_v2", d.free_stream);
  in.find("cuStreamSynchronize", d.wait_stream);
  in.find("cuMemAlloc_v2", d.allocate);
  in.find("cuMemFree_v2", d.release_memory);
  in.find("cuMemcpyHtoDAsync_v2", d.write);
  in.find("cuMemcpyDtoHAsync_v2", d.read);
  in.find("cuModuleLoadData", d.load);
  in.find("cuModuleUnload", d.unload);
  in.find("cuModuleGetFunction", d.function);
  in.find("cuLaunchKernel", d.launch);
  in.find("cuEventCreate", d.new_event);
  in.find("cuEventDestroy_v2", d.free_event);
  in.find("cuEventRecord", d.record);
  in.find("cuEventSynchronize", d.wait_event);
  in.find("cuEventElapsedTime", d.elapsed);
  in.find_newer("cuStreamBeginCapture_v2", d.begin_capture);
  in.find_newer("cuStreamEndCapture", d.end_capture);
  in.find_newer("cuGraphInstantiateWithFlags", d.instantiate);
  in.find_newer("cuGraphDestroy", d.free_graph);
  in.find_newer("cuGraphExecDestroy", d.free_executable);
  in.find_newer("cuGraphLaunch", d.launch_graph);
  return d;
}

Compiler load_compiler() {
  Compiler c{.library = SharedLibrary({"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                       "libnvrtc.so.11.2", "/usr/local/cuda/lib64/libnvrtc.so"})};
  SharedLibrary& in = c.library;
  in.find("nvrtcVersion", c.version);
  in.find("nvrtcCreateProgram", c.new_program);
  in.find("nvrtcDestroyProgram", c.free_program);
  in.find("nvrtcCompileProgram", c.compile);
  in.find("nvrtcGetProgramLogSize", c.log_size);
  in.find("nvrtcGetProgramLog", c.log);
  in.find("nvrtcGetCUBINSize", c.binary_size);
  in.find("nvrtcGetCUBIN", c.binary);
  return c;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

const Compiler& compiler() {
  static const Compiler loaded = load_compiler();
  return loaded;
}

}  // namespace halftone::gpu::cuda
