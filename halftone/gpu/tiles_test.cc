// SPDX-License-Identifier: Apache-2.0
// Products by units that multiply small matrices, without such units: a device of OpenCL emulates
// their instructions, as the PTX ISA describes fragments in "Matrix Fragments for mma.m16n8k32",
// "mma.m16n8k16" and "mma.m8n8k16" of .s8. It is written from there, not from text/tiles.cl.
#include <gtest/gtest.h>

#include "halftone/base/random.h"
#include "halftone/gpu/groups.h"
#include "halftone/gpu/testing.h"
#include "halftone/kernels/groups/group_testing.h"
#include "halftone/kernels/groups/multiply_groups.h"

namespace halftone::gpu {
namespace {

using kernels::NamedFormat;

/// %laneid is get_local_id(0) % 32. groupID = %laneid >> 2, threadID_in_group = %laneid % 4.
///
/// .m16n8k32: A: a0..a15, row = groupID for ai where 0 <= i < 4 || 8 <= i < 12, else groupID + 8;
/// col = threadID_in_group * 4 + (i & 0x3) for i < 8, + 16 for i >= 8. B: b0..b7, row =
/// threadID_in_group * 4 + (i & 0x3) for i < 4, + 16 for i >= 4; col = groupID. C: c0..c3, row =
/// groupID for i < 2, else groupID + 8; col = threadID_in_group * 2 + (i & 0x1).
///
/// .m16n8k16: A: a0..a7, row = groupID for i < 4, else groupID + 8; col = threadID_in_group * 4 +
/// (i & 0x3). B: b0..b3, row = threadID_in_group * 4 + i; col = groupID. C as above.
///
/// .m8n8k16: A: a0..a3, row = groupID, col = threadID_in_group * 4 + i. B as .m16n8k16. C: c0, c1,
/// row = groupID, col = threadID_in_group * 2 + i.
constexpr const char* kEmulation = R"(
typedef struct {
  char a[16][32];
  char b[32][8];
} Emulated;
__attribute__((always_inline)) static inline char byte_of(int word, uint i) {
  return (char)((uint)word >> (8 * i) & 0xFFu);
}
// k inputs, m rows. a: m / 8 registers of each 16 inputs; b: one of each.
__attribute__((always_inline)) static inline void emulate(__local Emulated* all, int* c, uint m,
                                                          uint k, const int* a, const int* b) {
  __local Emulated* warp = all + get_local_id(0) / 32;
  uint group = get_local_id(0) % 32 >> 2;
  uint in_group = get_local_id(0) % 4;
  for (uint i = 0; i < m * k / 32; ++i) {
    uint row = group;
    if (m == 16 && (i & 7u) >= 4) row = group + 8;
    uint col = in_group * 4 + (i & 3u);
    if (i >= 8) col += 16;
    warp->a[row][col] = byte_of(a[i / 4], i % 4);
  }
  for (uint i = 0; i < k / 4; ++i) {
    uint row = in_group * 4 + (i & 3u);
    if (i >= 4) row += 16;
    warp->b[row][group] = byte_of(b[i / 4], i % 4);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < m / 4; ++i) {
    uint row = i < 2 ? group : group + 8;
    uint col = in_group * 2 + (i & 1u);
    for (uint j = 0; j < k; ++j) c[i] += warp->a[row][j] * warp->b[j][col];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
#define MMA_MEMORY __local Emulated emulated[4];
#define MMA_16_8_32(c, a0, a1, a2, a3, b0, b1)     \
  do {                                             \
    int a_registers[4] = {a0, a1, a2, a3};         \
    int b_registers[2] = {b0, b1};                 \
    emulate(emulated, c, 16, 32, a_registers, b_registers); \
  } while (0)
#define MMA_16_8_16(c, a0, a1, b)                  \
  do {                                             \
    int a_registers[2] = {a0, a1};                 \
    int b_registers[1] = {b};                      \
    emulate(emulated, c, 16, 16, a_registers, b_registers); \
  } while (0)
#define MMA_8_8_16(c, a0, b)                       \
  do {                                             \
    int a_registers[1] = {a0};                     \
    int b_registers[1] = {b};                      \
    emulate(emulated, c, 8, 16, a_registers, b_registers); \
  } while (0)
)";

std::vector<NamedFormat> formats_of_tiles() {
  std::vector<NamedFormat> formats = kernels::group_formats();
  for (NamedFormat& each : kernels::vector_formats()) formats.push_back(each);
  return formats;
}

class TilesOnDevice : public OnDevice, public testing::WithParamInterface<NamedFormat> {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (device != nullptr && device->info().api != Api::kOpenCl) {
      GTEST_SKIP() << "the emulation is written in OpenCL C";
    }
  }
  /// Outputs that differ in a bit from those of the reference.
  static std::size_t differing_outputs(std::size_t outputs, std::size_t cols, std::size_t rows,
                                       const std::string& units) {
    const kernels::RandomGroups weights(GetParam().format, outputs, cols, 3);
    Random random(7);
    std::vector<float> x(rows * cols);
    for (float& each : x) each = static_cast<float>(random.normal());
    kernels::OwnedRows encoded(rows, weights.extents);
    kernels::encode_group_rows_reference(MatrixView<const float>(x.data(), rows, cols, cols),
                                         {0, rows}, encoded.view);
    std::vector<float> want(rows * outputs);
    kernels::multiply_groups_reference(weights.format, weights.unpacker(), encoded.view,
                                       MatrixView<float>(want.data(), rows, outputs, outputs));
    const GroupMatrix matrix(*programs, weights.packed());
    const GroupInputs inputs(*programs, rows, matrix.extents());
    const auto buffer = on_device(x);
    const auto y = unset(rows * outputs);
    device->launch(inputs.encode(*buffer));
    device->launch(multiply_tiles(matrix, inputs, *y, {}, units));
    return differing_bits(download<float>(*device, *y, rows * outputs), want);
  }
};

TEST_P(TilesOnDevice, HaveTheBitsOfTheReference) {
  EXPECT_EQ(differing_outputs(70, 512, 13, kEmulation), 0U);
  EXPECT_EQ(differing_outputs(64, 320, 70, kEmulation), 0U);
}

TEST_P(TilesOnDevice, HaveThemInSmallTiles) {
  // What differs between formats does not differ here, but for the inputs of an integer sum.
  const std::string& name = GetParam().name;
  if (name != "Q4_K" && name != "Q6_K" && name != "TQ2_0") GTEST_SKIP() << "as Q4_K, Q6_K or TQ2_0";
  const std::string units = std::string(kEmulation) + "#define HAS_SMALL_TILES\n";
  EXPECT_EQ(differing_outputs(17, 192, 9, units), 0U);
}

INSTANTIATE_TEST_SUITE_P(AllFormats, TilesOnDevice, testing::ValuesIn(formats_of_tiles()),
                         [](const testing::TestParamInfo<NamedFormat>& each) {
                           std::string name = each.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

TEST(Tiles, AreOfCardsThatHaveThem) {
  DeviceInfo info;
  info.api = Api::kCuda;
  for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_100"}) {
    info.target = target;
    EXPECT_TRUE(has_tiles(info)) << target;
  }
  info.target = "sm_70";
  EXPECT_FALSE(has_tiles(info));
  EXPECT_FALSE(has_tiles({}));  // OpenCL
}

}  // namespace
}  // namespace halftone::gpu
