// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/cuda.h"

#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/gpu/cuda_api.h"
#include "halftone/gpu/launches.h"
#include "halftone/gpu/nvrtc.h"

namespace halftone::gpu {
namespace {

using cuda::driver;
using cuda::Status;

/// @throws Error kDevice unless the status says success
void check_cuda(const DeviceInfo& info, const std::string& what, Status status) {
  if (status == 0) return;
  const char* text = nullptr;
  if (driver().error_text(status, &text) != 0 || text == nullptr) text = "unknown error";
  fail(ErrorKind::kDevice,
       info.id() + ": " + what + ": " + text + " (" + std::to_string(status) + ")");
}

int attribute(cuda::Device device, int which) {
  int value = 0;
  return driver().attribute(&value, which, device) == 0 ? value : 0;
}

DeviceInfo describe(int index) {
  DeviceInfo info;
  info.api = Api::kCuda;
  info.index = index;
  cuda::Device device = 0;
  if (driver().device(&device, index) != 0) {
    info.problem = "its driver does not answer";
    return info;
  }
  std::array<char, 256> name{};
  if (driver().name(name.data(), static_cast<int>(name.size()) - 1, device) == 0) {
    info.name = name.data();
  }
  int version = 0;
  driver().version(&version);
  info.driver =
      "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  std::size_t bytes = 0;
  if (driver().memory(&bytes, device) == 0) info.memory_bytes = bytes;
  info.units = attribute(device, cuda::kUnits);
  const int major = attribute(device, cuda::kMajor);
  info.target = "sm_" + std::to_string(major) + std::to_string(attribute(device, cuda::kMinor));
  constexpr int kMinMajor = 7;
  if (major < kMinMajor) info.problem = "it is older than sm_70";
  if (!has_nvrtc()) {
    info.problem = "libnvrtc.so is not installed: it is part of the CUDA toolkit";
  }
  if (has_nvrtc()) info.driver += ", " + nvrtc_version();
  return info;
}

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(std::size_t bytes, cuda::Address address) : Buffer(bytes), address_(address) {}
  ~CudaBuffer() override { driver().release_memory(address_); }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  [[nodiscard]] cuda::Address address() const { return address_; }

 private:
  cuda::Address address_;
};

cuda::Address address_of(const Buffer& buffer) {
  return static_cast<const CudaBuffer&>(buffer).address();
}

struct CudaKernel final : Kernel {
  explicit CudaKernel(cuda::Function* function_in) : function(function_in) {}
  cuda::Function* function;
};

class CudaProgram final : public Program {
 public:
  CudaProgram(const DeviceInfo& info, std::vector<std::byte> binary)
      : info_(info), binary_(std::move(binary)) {
    check_cuda(info_, "program", driver().load(&module_, binary_.data()));
  }
  ~CudaProgram() override { driver().unload(module_); }
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;

  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    cuda::Function* function = nullptr;
    if (driver().function(&function, module_, name.c_str()) != 0) {
      fail(ErrorKind::kInternal, info_.id() + ": kernel " + name + ": no such kernel");
    }
    return std::make_unique<CudaKernel>(function);
  }
  std::vector<std::byte> binary() const override { return binary_; }

 private:
  DeviceInfo info_;
  std::vector<std::byte> binary_;
  cuda::Module* module_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(const DeviceInfo& info, cuda::Stream* stream) : info_(info) {
    check_cuda(info_, "event", driver().new_event(&event_, 0));
    check_cuda(info_, "event", driver().record(event_, stream));
  }
  ~CudaEvent() override { driver().free_event(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  double seconds_since(Event& earlier) override {
    float milliseconds = 0;
    check_cuda(info_, "wait", driver().wait_event(event_));
    check_cuda(info_, "time of an event",
               driver().elapsed(&milliseconds, static_cast<CudaEvent&>(earlier).event_, event_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  DeviceInfo info_;
  cuda::Event* event_ = nullptr;
};

/// What a stream was asked for while it captured; nothing of it was done.
class CapturedGraph {
 public:
  /// @param body  asks
  template <typename Body>
  CapturedGraph(const DeviceInfo& info, cuda::Stream* stream, const Body& body) {
    check_cuda(info, "capture", driver().begin_capture(stream, cuda::kOfThisThread));
    try {
      body();
    } catch (...) {
      driver().end_capture(stream, &graph_);
      release();
      throw;
    }
    check_cuda(info, "capture", driver().end_capture(stream, &graph_));
  }
  ~CapturedGraph() { release(); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  [[nodiscard]] cuda::Graph* get() const { return graph_; }

 private:
  void release() {
    if (graph_ != nullptr) driver().free_graph(graph_);
    graph_ = nullptr;
  }
  cuda::Graph* graph_ = nullptr;
};

/// A graph holds the arguments of its launches.
class CudaReplay final : public Replay {
 public:
  CudaReplay(const DeviceInfo& info, cuda::Context* context, cuda::Stream* stream,
             const CapturedGraph& graph)
      : info_(info), context_(context), stream_(stream) {
    check_cuda(info_, "graph", driver().instantiate(&executable_, graph.get(), 0));
  }
  ~CudaReplay() override { driver().free_executable(executable_); }
  CudaReplay(const CudaReplay&) = delete;
  CudaReplay& operator=(const CudaReplay&) = delete;

  void run() override {
    check_cuda(info_, "context", driver().set_context(context_));
    check_cuda(info_, "replay", driver().launch_graph(executable_, stream_));
  }

 private:
  DeviceInfo info_;
  cuda::Context* context_;
  cuda::Stream* stream_;
  cuda::Executable* executable_ = nullptr;
};

class CudaDevice final : public GpuDevice {
 public:
  explicit CudaDevice(DeviceInfo info) : info_(std::move(info)) {
    check_cuda(info_, "device", driver().device(&device_, info_.index));
    check_cuda(info_, "context", driver().retain(&context_, device_));
    Status status = driver().set_context(context_);
    if (status == 0) status = driver().new_stream(&stream_, 1);  // apart from the default stream
    if (status != 0) driver().release(device_);
    check_cuda(info_, "stream", status);
  }
  ~CudaDevice() override {
    driver().wait_stream(stream_);
    driver().free_stream(stream_);
    driver().release(device_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  std::unique_ptr<Buffer> allocate(std::size_t size_bytes) override {
    use();
    cuda::Address address = 0;
    check_cuda(info_, std::to_string(size_bytes) + " bytes of memory",
               driver().allocate(&address, std::max<std::size_t>(size_bytes, 4)));
    return std::make_unique<CudaBuffer>(size_bytes, address);
  }

  void write(Buffer& to, std::size_t offset, std::span<const std::byte> bytes) override {
    use();
    HALFTONE_ASSERT(offset + bytes.size() <= to.size_bytes());
    if (bytes.empty()) return;
    // From memory that is not pinned the driver copies before it returns.
    check_cuda(info_, "copy to the device",
               driver().write(address_of(to) + offset, bytes.data(), bytes.size(), stream_));
  }

  void read(const Buffer& from, std::size_t offset, std::span<std::byte> bytes) override {
    use();
    HALFTONE_ASSERT(offset + bytes.size() <= from.size_bytes());
    if (bytes.empty()) return;
    check_cuda(info_, "copy from the device",
               driver().read(bytes.data(), address_of(from) + offset, bytes.size(), stream_));
    finish();
  }

  std::unique_ptr<Program> compile(const std::string& text) override {
    use();
    return std::make_unique<CudaProgram>(info_, compile_cuda(text, info_.target));
  }
  std::unique_ptr<Program> load(std::span<const std::byte> binary) override {
    use();
    return std::make_unique<CudaProgram>(info_,
                                         std::vector<std::byte>(binary.begin(), binary.end()));
  }

  void launch(const Launch& what) override {
    use();
    const Grid& grid = what.grid;
    if (!has_threads(what)) return;
    std::vector<cuda::Address> values(what.arguments.size());
    std::vector<void*> pointers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const KernelArgument& each = what.arguments[i];
      values[i] = each.buffer == nullptr ? each.bits : address_of(*each.buffer);
      pointers[i] = &values[i];  // a number is in the low half
    }
    const auto extent = [](std::size_t count) { return static_cast<unsigned>(count); };
    check_cuda(info_, "launch",
               driver().launch(static_cast<CudaKernel&>(*what.kernel).function, extent(grid.x),
                               extent(grid.y), 1, extent(grid.threads), 1, 1, 0, stream_,
                               pointers.data(), nullptr));
  }

  std::unique_ptr<Replay> prepare(std::span<const Launch> launches) override {
    use();
    // A graph of one launch takes no less than the launch.
    const bool is_graph = driver().has_graphs() && std::ranges::count_if(launches, has_threads) > 1;
    if (!is_graph) return std::make_unique<LaunchList>(*this, launches);
    const CapturedGraph graph(info_, stream_, [&] {
      for (const Launch& each : launches) launch(each);
    });
    return std::make_unique<CudaReplay>(info_, context_, stream_, graph);
  }

  std::unique_ptr<Event> record() override {
    use();
    return std::make_unique<CudaEvent>(info_, stream_);
  }
  void finish() override {
    use();
    check_cuda(info_, "wait", driver().wait_stream(stream_));
  }

 private:
  /// The driver's calls act on the context of the calling thread.
  void use() const { check_cuda(info_, "context", driver().set_context(context_)); }

  DeviceInfo info_;
  cuda::Device device_ = 0;
  cuda::Context* context_ = nullptr;
  cuda::Stream* stream_ = nullptr;
};

}  // namespace

DeviceList list_cuda_devices() {
  DeviceList list;
  if (!driver().is_usable()) {
    list.missing = "libcuda.so.1 is not installed: it is part of NVIDIA's driver";
    return list;
  }
  int count = 0;
  const Status status = driver().init(0);
  if (status != 0 || driver().device_count(&count) != 0 || count == 0) {
    list.missing = "NVIDIA's driver finds no card";
    return list;
  }
  for (int i = 0; i < count; ++i) list.devices.push_back(describe(i));
  return list;
}

std::unique_ptr<GpuDevice> open_cuda_device(const DeviceInfo& info) {
  return std::make_unique<CudaDevice>(info);
}

}  // namespace halftone::gpu
