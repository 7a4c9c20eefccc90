// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/opencl.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/gpu/launches.h"
#include "halftone/gpu/opencl_api.h"

namespace halftone::gpu {
namespace {

using opencl::functions;
using opencl::Status;

std::string status_text(Status status) {
  constexpr std::pair<Status, const char*> kNames[] = {{-1, "device not found"},
                                                       {-2, "device not available"},
                                                       {-3, "compiler not available"},
                                                       {-4, "memory allocation failed"},
                                                       {-5, "out of resources"},
                                                       {-6, "out of host memory"},
                                                       {-11, "the text does not compile"},
                                                       {-36, "the device was lost"},
                                                       {-46, "no such kernel"},
                                                       {-48, "invalid kernel"},
                                                       {-52, "missing arguments"},
                                                       {-54, "invalid group size"},
                                                       {-61, "invalid buffer size"},
                                                       {-1001, "no drivers are installed"}};
  for (const auto& [known, text] : kNames) {
    if (known == status) return std::string(text) + " (" + std::to_string(status) + ")";
  }
  return "error " + std::to_string(status);
}

/// @throws Error kDevice unless the status says success
void check(const DeviceInfo& info, const char* what, Status status) {
  if (status == opencl::kSuccess) return;
  fail(ErrorKind::kDevice, info.id() + ": " + what + ": " + status_text(status));
}

/// A device and the platform it belongs to.
struct Found {
  opencl::Platform* platform = nullptr;
  opencl::DeviceId* device = nullptr;
};

template <typename Get>
std::string text_of(const Get& get) {
  std::size_t bytes = 0;
  if (get(0, nullptr, &bytes) != opencl::kSuccess) return "";
  std::string text(bytes, '\0');
  if (get(bytes, text.data(), nullptr) != opencl::kSuccess) return "";
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string device_text(opencl::DeviceId* device, std::uint32_t property) {
  return text_of([&](std::size_t bytes, void* to, std::size_t* needed) {
    return functions().device_info(device, property, bytes, to, needed);
  });
}

std::string platform_text(opencl::Platform* platform, std::uint32_t property) {
  return text_of([&](std::size_t bytes, void* to, std::size_t* needed) {
    return functions().platform_info(platform, property, bytes, to, needed);
  });
}

template <typename T>
T device_number(opencl::DeviceId* device, std::uint32_t property) {
  T number{};
  const Status status = functions().device_info(device, property, sizeof number, &number, nullptr);
  return status == opencl::kSuccess ? number : T{};
}

std::vector<Found> find_devices() {
  std::vector<Found> found;
  if (!functions().are_usable()) return found;
  std::uint32_t count = 0;
  if (functions().platforms(0, nullptr, &count) != opencl::kSuccess) return found;
  std::vector<opencl::Platform*> platforms(count);
  if (functions().platforms(count, platforms.data(), nullptr) != opencl::kSuccess) return found;
  for (opencl::Platform* platform : platforms) {
    if (functions().devices(platform, opencl::kAllDevices, 0, nullptr, &count) != 0) continue;
    std::vector<opencl::DeviceId*> devices(count);
    if (functions().devices(platform, opencl::kAllDevices, count, devices.data(), nullptr) != 0) {
      continue;
    }
    for (opencl::DeviceId* device : devices) found.push_back({platform, device});
  }
  return found;
}

/// Why float sums on this device have not the bits of a processor.
std::string problem_of(opencl::DeviceId* device) {
  const auto floats = device_number<opencl::Bits>(device, opencl::kFloatConfig);
  if ((floats & opencl::kHasDenormals) == 0) return "its floats have no denormal numbers";
  if ((floats & opencl::kRoundsToNearest) == 0 || (floats & opencl::kHasNan) == 0) {
    return "its floats do not round to nearest or have no NaN";
  }
  const auto doubles = device_number<opencl::Bits>(device, opencl::kDoubleConfig);
  if (doubles == 0) return "it has no numbers of 64 bits, in which norms are summed";
  constexpr std::size_t kMinThreads = 256;
  if (device_number<std::size_t>(device, opencl::kMaxGroupThreads) < kMinThreads) {
    return "a group has less than 256 threads";
  }
  return "";
}

DeviceInfo describe(const Found& found, int index) {
  DeviceInfo info;
  info.api = Api::kOpenCl;
  info.index = index;
  info.name = device_text(found.device, opencl::kName);
  info.driver = platform_text(found.platform, opencl::kPlatformName) + " " +
                device_text(found.device, opencl::kDriverVersion);
  info.memory_bytes = device_number<std::uint64_t>(found.device, opencl::kGlobalBytes);
  info.units = device_number<int>(found.device, opencl::kComputeUnits);
  info.target = device_text(found.device, opencl::kLanguageVersion);
  info.is_processor =
      (device_number<opencl::Bits>(found.device, opencl::kType) & opencl::kProcessor) != 0;
  info.problem = problem_of(found.device);
  return info;
}

class OpenClBuffer final : public Buffer {
 public:
  OpenClBuffer(std::size_t bytes, opencl::Memory* memory) : Buffer(bytes), memory_(memory) {}
  ~OpenClBuffer() override { functions().release_buffer(memory_); }
  OpenClBuffer(const OpenClBuffer&) = delete;
  OpenClBuffer& operator=(const OpenClBuffer&) = delete;
  [[nodiscard]] opencl::Memory* memory() const { return memory_; }

 private:
  opencl::Memory* memory_;
};

opencl::Memory* memory_of(const Buffer& buffer) {
  return static_cast<const OpenClBuffer&>(buffer).memory();
}

struct OpenClKernel final : Kernel {
  OpenClKernel(const DeviceInfo& info, opencl::ProgramId* program_in, std::string name_in)
      : program(program_in), name(std::move(name_in)) {
    Status status = opencl::kSuccess;
    id = functions().new_kernel(program, name.c_str(), &status);
    if (status == opencl::kSuccess) return;
    fail(ErrorKind::kInternal, info.id() + ": kernel " + name + ": " + status_text(status));
  }
  ~OpenClKernel() override { functions().release_kernel(id); }
  OpenClKernel(const OpenClKernel&) = delete;
  OpenClKernel& operator=(const OpenClKernel&) = delete;

  void set_arguments(const DeviceInfo& info, std::span<const KernelArgument> arguments) const {
    std::uint32_t index = 0;
    for (const KernelArgument& each : arguments) {
      opencl::Memory* memory = each.buffer == nullptr ? nullptr : memory_of(*each.buffer);
      const void* from = &each.bits;
      if (memory != nullptr) from = &memory;
      const std::size_t bytes = memory == nullptr ? sizeof each.bits : sizeof memory;
      check(info, "argument", functions().set_argument(id, index++, bytes, from));
    }
  }
  void launch(const DeviceInfo& info, opencl::Queue* queue, const Grid& grid) const {
    const std::size_t global[] = {grid.x * grid.threads, grid.y};
    const std::size_t local[] = {grid.threads, 1};
    check(info, "launch",
          functions().launch(queue, id, 2, nullptr, global, local, 0, nullptr, nullptr));
  }

  opencl::ProgramId* program;
  std::string name;
  opencl::KernelId* id = nullptr;
};

/// Each launch has a kernel of its own, whose arguments are set once.
class OpenClReplay final : public Replay {
 public:
  OpenClReplay(const DeviceInfo& info, opencl::Queue* queue, std::span<const Launch> launches)
      : info_(info), queue_(queue) {
    for (const Launch& each : launches) {
      if (!has_threads(each)) continue;
      const auto& kernel = static_cast<const OpenClKernel&>(*each.kernel);
      steps_.push_back(
          {std::make_unique<OpenClKernel>(info_, kernel.program, kernel.name), each.grid});
      steps_.back().kernel->set_arguments(info_, each.arguments);
    }
  }
  void run() override {
    for (const Step& each : steps_) each.kernel->launch(info_, queue_, each.grid);
  }

 private:
  struct Step {
    std::unique_ptr<OpenClKernel> kernel;
    Grid grid;
  };
  DeviceInfo info_;
  opencl::Queue* queue_;
  std::vector<Step> steps_;
};

class OpenClProgram final : public Program {
 public:
  OpenClProgram(const DeviceInfo& info, opencl::ProgramId* id) : info_(info), id_(id) {}
  ~OpenClProgram() override { functions().release_program(id_); }
  OpenClProgram(const OpenClProgram&) = delete;
  OpenClProgram& operator=(const OpenClProgram&) = delete;

  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    return std::make_unique<OpenClKernel>(info_, id_, name);
  }

  std::vector<std::byte> binary() const override {
    std::size_t bytes = 0;
    check(info_, "size of a program",
          functions().program_info(id_, opencl::kBinarySizes, sizeof bytes, &bytes, nullptr));
    std::vector<std::byte> binary(bytes);
    std::byte* to = binary.data();
    check(info_, "a program's bytes",
          functions().program_info(id_, opencl::kBinaries, sizeof(void*), &to, nullptr));
    return binary;
  }

 private:
  DeviceInfo info_;
  opencl::ProgramId* id_;
};

class OpenClEvent final : public Event {
 public:
  OpenClEvent(const DeviceInfo& info, opencl::EventId* id) : info_(info), id_(id) {}
  ~OpenClEvent() override { functions().release_event(id_); }
  OpenClEvent(const OpenClEvent&) = delete;
  OpenClEvent& operator=(const OpenClEvent&) = delete;

  double seconds_since(Event& earlier) override {
    const std::uint64_t before = static_cast<OpenClEvent&>(earlier).nanoseconds();
    return static_cast<double>(nanoseconds() - before) * 1e-9;
  }

 private:
  std::uint64_t nanoseconds() {
    std::uint64_t end = 0;
    check(info_, "wait", functions().wait(1, &id_));
    check(info_, "time of an event",
          functions().event_info(id_, opencl::kEventEnd, sizeof end, &end, nullptr));
    return end;
  }

  DeviceInfo info_;
  opencl::EventId* id_;
};

class OpenClDevice final : public GpuDevice {
 public:
  OpenClDevice(DeviceInfo info, opencl::DeviceId* device)
      : info_(std::move(info)), device_(device) {
    Status status = opencl::kSuccess;
    context_ = functions().new_context(nullptr, 1, &device_, nullptr, nullptr, &status);
    check(info_, "context", status);
    queue_ = functions().new_queue(context_, device_, opencl::kProfiling, &status);
    if (status != opencl::kSuccess) functions().release_context(context_);
    check(info_, "queue", status);
    const auto floats = device_number<opencl::Bits>(device_, opencl::kFloatConfig);
    options_ = "-cl-std=CL1.2";
    options_ += (floats & opencl::kRoundsQuotients) != 0 ? " -cl-fp32-correctly-rounded-divide-sqrt"
                                                         : " -DDIVIDES_IN_DOUBLE";
  }
  ~OpenClDevice() override {
    functions().finish(queue_);
    functions().release_queue(queue_);
    functions().release_context(context_);
  }
  OpenClDevice(const OpenClDevice&) = delete;
  OpenClDevice& operator=(const OpenClDevice&) = delete;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  std::unique_ptr<Buffer> allocate(std::size_t size_bytes) override {
    Status status = opencl::kSuccess;
    opencl::Memory* memory = functions().new_buffer(
        context_, opencl::kReadWrite, std::max<std::size_t>(size_bytes, 4), nullptr, &status);
    const std::string what = std::to_string(size_bytes) + " bytes of memory";
    check(info_, what.c_str(), status);
    return std::make_unique<OpenClBuffer>(size_bytes, memory);
  }

  void write(Buffer& to, std::size_t offset, std::span<const std::byte> bytes) override {
    HALFTONE_ASSERT(offset + bytes.size() <= to.size_bytes());
    if (bytes.empty()) return;
    check(info_, "copy to the device",
          functions().write_buffer(queue_, memory_of(to), opencl::kBlocking, offset, bytes.size(),
                                   bytes.data(), 0, nullptr, nullptr));
  }

  void read(const Buffer& from, std::size_t offset, std::span<std::byte> bytes) override {
    HALFTONE_ASSERT(offset + bytes.size() <= from.size_bytes());
    if (bytes.empty()) return;
    check(info_, "copy from the device",
          functions().read_buffer(queue_, memory_of(from), opencl::kBlocking, offset, bytes.size(),
                                  bytes.data(), 0, nullptr, nullptr));
  }

  std::unique_ptr<Program> compile(const std::string& text) override {
    Status status = opencl::kSuccess;
    const char* source = text.c_str();
    const std::size_t length = text.size();
    opencl::ProgramId* id = functions().new_program(context_, 1, &source, &length, &status);
    check(info_, "program", status);
    return built(id);
  }

  std::unique_ptr<Program> load(std::span<const std::byte> binary) override {
    Status status = opencl::kSuccess;
    const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
    const std::size_t length = binary.size();
    opencl::ProgramId* id =
        functions().load_program(context_, 1, &device_, &length, &bytes, nullptr, &status);
    check(info_, "compiled program", status);
    return built(id);
  }

  void launch(const Launch& what) override {
    if (!has_threads(what)) return;
    const auto& kernel = static_cast<const OpenClKernel&>(*what.kernel);
    kernel.set_arguments(info_, what.arguments);
    kernel.launch(info_, queue_, what.grid);
  }

  std::unique_ptr<Replay> prepare(std::span<const Launch> launches) override {
    return std::make_unique<OpenClReplay>(info_, queue_, launches);
  }

  std::unique_ptr<Event> record() override {
    opencl::EventId* id = nullptr;
    check(info_, "event", functions().marker(queue_, 0, nullptr, &id));
    return std::make_unique<OpenClEvent>(info_, id);
  }

  void finish() override { check(info_, "wait", functions().finish(queue_)); }

 private:
  std::unique_ptr<Program> built(opencl::ProgramId* id) {
    auto program = std::make_unique<OpenClProgram>(info_, id);
    const Status status = functions().build(id, 1, &device_, options_.c_str(), nullptr, nullptr);
    if (status == opencl::kSuccess) return program;
    std::string log = text_of([&](std::size_t bytes, void* to, std::size_t* needed) {
      return functions().build_info(id, device_, opencl::kBuildLog, bytes, to, needed);
    });
    std::ranges::replace(log, '\n', ' ');
    fail(ErrorKind::kDevice, info_.id() + ": " + status_text(status) + ": " + log);
  }

  DeviceInfo info_;
  opencl::DeviceId* device_;
  opencl::Context* context_ = nullptr;
  opencl::Queue* queue_ = nullptr;
  std::string options_;
};

}  // namespace

DeviceList list_opencl_devices() {
  DeviceList list;
  if (!functions().are_usable()) {
    list.missing = "libOpenCL.so.1 is not installed (Debian: apt-get install ocl-icd-libopencl1)";
    return list;
  }
  int index = 0;
  for (const Found& found : find_devices()) list.devices.push_back(describe(found, index++));
  if (list.devices.empty()) {
    list.missing =
        "no OpenCL driver is installed (cards: the driver of their vendor; processors: apt-get "
        "install pocl-opencl-icd)";
  }
  return list;
}

std::unique_ptr<GpuDevice> open_opencl_device(const DeviceInfo& info) {
  return std::make_unique<OpenClDevice>(
      info, find_devices().at(static_cast<std::size_t>(info.index)).device);
}

}  // namespace halftone::gpu
