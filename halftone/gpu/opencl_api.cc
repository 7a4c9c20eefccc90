// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/opencl_api.h"

namespace halftone::gpu::opencl {
namespace {

Functions load() {
  Functions f{.library = SharedLibrary({"libOpenCL.so.1", "libOpenCL.so"})};
  SharedLibrary& in = f.library;
  in.find("clGetPlatformIDs", f.platforms);
  in.find("clGetPlatformInfo", f.platform_info);
  in.find("clGetDeviceIDs", f.devices);
  in.find("clGetDeviceInfo", f.device_info);
  in.find("clCreateContext", f.new_context);
  in.find("clReleaseContext", f.release_context);
  in.find("clCreateCommandQueue", f.new_queue);
  in.find("clReleaseCommandQueue", f.release_queue);
  in.find("clCreateBuffer", f.new_buffer);
  in.find("clReleaseMemObject", f.release_buffer);
  in.find("clEnqueueWriteBuffer", f.write_buffer);
  in.find("clEnqueueReadBuffer", f.read_buffer);
  in.find("clCreateProgramWithSource", f.new_program);
  in.find("clCreateProgramWithBinary", f.load_program);
  in.find("clBuildProgram", f.build);
  in.find("clGetProgramBuildInfo", f.build_info);
  in.find("clGetProgramInfo", f.program_info);
  in.find("clReleaseProgram", f.release_program);
  in.find("clCreateKernel", f.new_kernel);
  in.find("clReleaseKernel", f.release_kernel);
  in.find("clSetKernelArg", f.set_argument);
  in.find("clEnqueueNDRangeKernel", f.launch);
  in.find("clEnqueueMarkerWithWaitList", f.marker);
  in.find("clWaitForEvents", f.wait);
  in.find("clGetEventProfilingInfo", f.event_info);
  in.find("clReleaseEvent", f.release_event);
  in.find("clFinish", f.finish);
  return f;
}

}  // namespace

const Functions& functions() {
  static const Functions loaded = load();
  return loaded;
}

}  // namespace halftone::gpu::opencl
