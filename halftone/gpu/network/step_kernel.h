// SPDX-License-Identifier: Apache-2.0
// A step of a plan as launches, and what makes one. Private to this folder.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/gpu/launches.h"
#include "halftone/gpu/programs.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/runtime/step_device.h"

namespace halftone::gpu {

/// The memory of a step in a session. Values have the bytes that they have on the processor.
struct StepMemory {
  std::vector<const Buffer*> inputs;  ///< null: absent, or a constant that the kernel holds
  const Buffer* output = nullptr;
  std::vector<const Buffer*> scratch;  ///< StepKernel::scratch_bytes each
};

/// A step on a device.
struct StepKernel final : runtime::DeviceKernel {
  std::vector<std::unique_ptr<Buffer>> constants;
  std::vector<std::size_t> scratch_bytes;  ///< of memory for this step alone
  std::function<std::vector<Launch>(const StepMemory&)> bind;

  [[nodiscard]] std::size_t constant_bytes() const override {
    std::size_t sum = 0;
    for (const auto& each : constants) sum += each->size_bytes();
    return sum;
  }
};

/// Collects what a step needs.
class StepMaker {
 public:
  StepMaker(Programs& programs, const runtime::NodeContext& context, const runtime::PlanStep& step)
      : programs_(programs),
        context_(context),
        step_(step),
        kernel_(std::make_shared<StepKernel>()) {}

  [[nodiscard]] Programs& programs() const { return programs_; }
  [[nodiscard]] const runtime::NodeContext& context() const { return context_; }
  [[nodiscard]] const runtime::PlanStep& step() const { return step_; }
  /// Number of elements of the output, as kernels count.
  [[nodiscard]] std::uint32_t count() const {
    return number(context_.output().shape.element_count());
  }

  /// Memory of the device with these elements, owned by the kernel. Empty is one zero.
  template <typename T>
  const Buffer& constant(std::vector<T> elements) {
    if (elements.empty()) elements.resize(1);
    kernel_->constants.push_back(upload(programs_.device(), std::span<const T>(elements)));
    return *kernel_->constants.back();
  }
  /// Index of memory for this step alone.
  std::size_t scratch(std::size_t bytes) {
    kernel_->scratch_bytes.push_back(bytes);
    return kernel_->scratch_bytes.size() - 1;
  }
  /// @param bind  makes the launches on the memory of a session
  runtime::DeviceChoice made(std::function<std::vector<Launch>(const StepMemory&)> bind) {
    kernel_->bind = std::move(bind);
    return {kernel_, {}};
  }

 private:
  Programs& programs_;
  const runtime::NodeContext& context_;
  const runtime::PlanStep& step_;
  std::shared_ptr<StepKernel> kernel_;
};

inline runtime::DeviceChoice refused(std::string reason) { return {nullptr, std::move(reason)}; }

// Kernels of steps, or why there are none, by what the processor would run.
runtime::DeviceChoice make_byte_layer(StepMaker& maker);     ///< ir::Arithmetic::kIntegers
runtime::DeviceChoice make_bit_layer(StepMaker& maker);      ///< ir::Arithmetic::kBits
runtime::DeviceChoice make_float_layer(StepMaker& maker);    ///< kFixedFloat
runtime::DeviceChoice make_integer_layer(StepMaker& maker);  ///< dense int8 and uint8
runtime::DeviceChoice make_pool(StepMaker& maker);
runtime::DeviceChoice make_encode(StepMaker& maker);
runtime::DeviceChoice make_code_conversion(StepMaker& maker);  ///< to, from and between integers
runtime::DeviceChoice make_pair(StepMaker& maker);             ///< Binary
runtime::DeviceChoice make_copy(StepMaker& maker);
runtime::DeviceChoice make_row_function(StepMaker& maker);  ///< functions, norms, sums

}  // namespace halftone::gpu
