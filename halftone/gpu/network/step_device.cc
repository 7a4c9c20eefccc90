// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/network/step_device.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/gpu/network/step_kernel.h"
#include "halftone/gpu/network/step_memory.h"

namespace halftone::gpu {
namespace {

/// What the threads of a program share: a device is for one at a time.
struct Shared {
  explicit Shared(std::unique_ptr<GpuDevice> the_device)
      : device(std::move(the_device)), programs(*device) {}

  std::mutex mutex;
  std::unique_ptr<GpuDevice> device;
  Programs programs;
};

class NetworkSession final : public runtime::DeviceSession {
 public:
  NetworkSession(Shared& shared, const runtime::Plan& plan) : shared_(shared) {
    const std::lock_guard lock(shared_.mutex);
    GpuDevice& device = *shared_.device;
    const StepBuffers wanted(plan);
    check_memory(device.info(),
                 {plan.device_constant_bytes(), wanted.total_bytes(), plan.options().batch});
    for (const std::size_t bytes : wanted.sizes()) buffers_.push_back(device.allocate(bytes));
    values_ = wanted.values();
    steps_.resize(plan.steps().size());
    for (std::size_t s = 0; s < plan.steps().size(); ++s) {
      const runtime::PlanStep& step = plan.steps()[s];
      if (step.device == nullptr) continue;
      const auto& kernel = static_cast<const StepKernel&>(*step.device);
      steps_[s] = device.prepare(kernel.bind(memory_of(plan, step, wanted.scratch(s))));
    }
  }

  ~NetworkSession() override {
    const std::lock_guard lock(shared_.mutex);
    steps_.clear();
    buffers_.clear();
    constants_.clear();
  }
  NetworkSession(const NetworkSession&) = delete;
  NetworkSession& operator=(const NetworkSession&) = delete;

  void write(ir::ValueId root, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return;
    const std::lock_guard lock(shared_.mutex);
    shared_.device->write(*buffers_[values_.at(root)], 0, bytes);
  }
  void read(ir::ValueId root, std::span<std::byte> bytes) override {
    if (bytes.empty()) return;
    const std::lock_guard lock(shared_.mutex);
    shared_.device->read(*buffers_[values_.at(root)], 0, bytes);
  }
  void run(std::size_t step) override {
    const std::lock_guard lock(shared_.mutex);
    steps_[step]->run();
  }
  void finish() override {
    const std::lock_guard lock(shared_.mutex);
    shared_.device->finish();
  }

 private:
  /// The memory of an input; null: a constant that was packed.
  const Buffer* input_of(const runtime::Plan& plan, ir::ValueId id) {
    if (id == ir::kAbsent) return nullptr;
    const runtime::Storage& storage = plan.storage(id);
    const auto found = values_.find(storage.root);
    if (found != values_.end()) return buffers_[found->second].get();
    if (storage.constant == nullptr || storage.bytes == 0) return nullptr;
    auto& constant = constants_[storage.root];
    if (constant == nullptr) {
      constant = upload(*shared_.device, std::span(storage.constant, storage.bytes));
    }
    return constant.get();
  }

  StepMemory memory_of(const runtime::Plan& plan, const runtime::PlanStep& step,
                       std::span<const std::size_t> scratch) {
    StepMemory memory;
    for (const ir::ValueId id : step.inputs) memory.inputs.push_back(input_of(plan, id));
    memory.output = buffers_[values_.at(plan.storage(step.output).root)].get();
    for (const std::size_t index : scratch) memory.scratch.push_back(buffers_[index].get());
    return memory;
  }

  Shared& shared_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::map<ir::ValueId, std::size_t> values_;                 ///< by root: index
  std::map<ir::ValueId, std::unique_ptr<Buffer>> constants_;  ///< operands, by root
  std::vector<std::unique_ptr<Replay>> steps_;                ///< null: of the processor
};

class NetworkDevice final : public runtime::StepDevice {
 public:
  explicit NetworkDevice(std::unique_ptr<GpuDevice> device) : shared_(std::move(device)) {}

  [[nodiscard]] std::string id() const override { return shared_.device->info().id(); }

  [[nodiscard]] runtime::DeviceChoice choose(const runtime::NodeContext& context,
                                             const runtime::PlanStep& step) const override {
    const std::lock_guard lock(shared_.mutex);
    if (context.output().shape.element_count() == 0) return refused("there is nothing to compute");
    StepMaker maker(shared_.programs, context, step);
    try {
      return kernel_of(maker);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      return refused(error.what());  // an extent
    }
  }

  [[nodiscard]] std::unique_ptr<runtime::DeviceSession> make_session(
      const runtime::Plan& plan) const override {
    return std::make_unique<NetworkSession>(shared_, plan);
  }

 private:
  /// By what the processor would run, whose bits it has.
  static runtime::DeviceChoice kernel_of(StepMaker& maker) {
    using runtime::KernelArithmetic;
    const runtime::PlanStep& step = maker.step();
    switch (step.arithmetic) {
      case KernelArithmetic::kBits:
        return make_bit_layer(maker);
      case KernelArithmetic::kIntegers:
        return make_byte_layer(maker);
      case KernelArithmetic::kGroups:
        return refused("weights in groups run there in language models only");
      case KernelArithmetic::kFastestFloat:
        return refused("its order of sums on the processor is not fixed");
      case KernelArithmetic::kFixedFloat:
        return std::holds_alternative<ir::Pool>(maker.context().node.op) ? make_pool(maker)
                                                                         : make_float_layer(maker);
      case KernelArithmetic::kOperator:
        break;
    }
    return operator_of(maker);
  }

  static runtime::DeviceChoice operator_of(StepMaker& maker) {
    const ir::Operator& op = maker.context().node.op;
    if (maker.step().kernel == "reference") return refused("only its reference computes it");
    if (maker.step().kernel == "integers") return make_integer_layer(maker);
    if (std::holds_alternative<ir::Pool>(op)) return make_pool(maker);
    if (std::holds_alternative<ir::Encode>(op)) return make_encode(maker);
    if (std::holds_alternative<ir::Binary>(op)) return make_pair(maker);
    if (maker.step().kernel == "strided_copy") return make_copy(maker);
    if (!maker.context().input(0).is_dense(ir::ElementType::kFloat32) ||
        std::holds_alternative<ir::QuantizeLinear>(op)) {
      return make_code_conversion(maker);
    }
    return make_row_function(maker);
  }

  mutable Shared shared_;
};

}  // namespace

void check_memory(const DeviceInfo& info, const MemoryNeed& need) {
  if (need.constants + need.values <= info.memory_bytes) return;
  fail(ErrorKind::kDevice, info.id() + ": weights of " + std::to_string(need.constants) +
                               " bytes and values of " + std::to_string(need.values) +
                               " bytes for a batch of " + std::to_string(need.batch) +
                               " do not fit its " + std::to_string(info.memory_bytes) +
                               " bytes: use a smaller batch or the processor");
}

std::shared_ptr<const runtime::StepDevice> open_step_device(std::string_view id) {
  if (id == "cpu") return nullptr;
  return std::make_shared<const NetworkDevice>(open_device(id));
}

}  // namespace halftone::gpu
