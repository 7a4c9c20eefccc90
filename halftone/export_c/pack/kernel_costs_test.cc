// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/pack/kernel_costs.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"

namespace halftone::export_c {
namespace {

TEST(KernelCosts, CoresHaveNames) {
  EXPECT_EQ(core_named("cortex-m3"), Core::kM3);
  EXPECT_EQ(core_named("cortex-m33"), Core::kM4);
  EXPECT_EQ(core_named("rv32-zbb"), Core::kRv32Zbb);
  expect_error(ErrorKind::kUsage, "core: expected cortex-m0, cortex-m3,",
               [] { core_named("z80"); });
}

// Figures that `scripts/microcontrollers.sh` printed for products that the costs were not fitted
// to.
TEST(KernelCosts, PredictOtherProducts) {
  const auto expect = [](Kernel kernel, Core core, const Product& product, double measured) {
    EXPECT_NEAR(instructions(kernel, core, product), measured, 0.1 * measured);
  };
  const Product dense{.inputs = 640, .outputs = 128, .w_planes = 2};
  expect(Kernel::kPlanes, Core::kM3, dense, 116835);
  expect(Kernel::kDigits2, Core::kM3, dense, 66839);
  expect(Kernel::kLevels2, Core::kM3, dense, 131722);
  expect(Kernel::kLevels11, Core::kM3, dense, 241699);
  expect(Kernel::kLevels4, Core::kM4, dense, 148713);
  expect(Kernel::kLevelTable, Core::kM4, dense, 339515);
  expect(Kernel::kBytes, Core::kM4, dense, 137871);
  expect(Kernel::kSigns, Core::kM3, {.inputs = 576, .outputs = 64}, 18515);
}

TEST(KernelCosts, CountingBitsPaysWithAnInstructionForIt) {
  const Product product{.inputs = 128, .outputs = 32, .x_planes = 2, .x_digits = 1, .w_planes = 2};
  EXPECT_LT(instructions(Kernel::kPlanes, Core::kM3, product),
            instructions(Kernel::kBits, Core::kM3, product));
  EXPECT_GT(instructions(Kernel::kPlanes, Core::kRv32Zbb, product),
            instructions(Kernel::kBits, Core::kRv32Zbb, product));
}

}  // namespace
}  // namespace halftone::export_c
