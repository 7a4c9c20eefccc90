// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/groups.h"

#include <gtest/gtest.h>

#include <limits>

#include "halftone/gpu/testing.h"
#include "halftone/kernels/groups/group_testing.h"
#include "halftone/kernels/groups/multiply_groups.h"
#include "halftone/numerics/block_encoding.h"

namespace halftone::gpu {
namespace {

using kernels::GroupExtents;
using kernels::NamedFormat;
using kernels::OwnedRows;
using kernels::RandomGroups;

using GroupsOnDevice = OnDevice;

std::vector<NamedFormat> all_formats() {
  std::vector<NamedFormat> formats = kernels::group_formats();
  for (NamedFormat& each : kernels::vector_formats()) formats.push_back(each);
  return formats;
}

/// Rows with ordinary numbers, zeros, numbers whose scale is denormal, and one that is infinite.
std::vector<float> some_rows(std::size_t rows, std::size_t cols, bool has_infinite = false) {
  Random random(7);
  std::vector<float> x(rows * cols);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t part = i / 64 % 7;
    const double factor = part == 3 ? 0 : part == 5 ? 1e-38 : 1;
    x[i] = static_cast<float>(random.normal() * factor);
  }
  if (has_infinite && !x.empty()) x[x.size() / 2] = std::numeric_limits<float>::infinity();
  return x;
}

struct Encoded {
  Encoded(const std::vector<float>& x, std::size_t rows, const GroupExtents& extents)
      : owned(rows, extents) {
    const MatrixView<const float> view(x.data(), rows, extents.cols, extents.cols);
    kernels::encode_group_rows_reference(view, {0, rows}, owned.view);
  }
  OwnedRows owned;
};

TEST_F(GroupsOnDevice, EncodesRowsAsTheProcessorDoes) {
  for (const std::size_t group : std::initializer_list<std::size_t>{16, 32, 64, 256}) {
    for (const std::size_t cols :
         std::initializer_list<std::size_t>{1, 16, 31, 64, 100, 256, 777}) {
      const GroupExtents extents{cols, group};
      constexpr std::size_t kRows = 3;
      const std::vector<float> x = some_rows(kRows, cols, true);
      const Encoded want(x, kRows, extents);
      const GroupInputs inputs(*programs, kRows, extents);
      const auto buffer = on_device(x);
      device->launch(inputs.encode(*buffer));
      const std::size_t pieces = extents.num_pieces();
      const auto codes =
          download<std::int8_t>(*device, inputs.codes(), kRows * extents.padded_cols());
      const auto scales = download<float>(*device, inputs.scales(), kRows * pieces);
      const auto shares = download<float>(*device, inputs.shares(), kRows * pieces);
      const auto sums = download<std::int32_t>(*device, inputs.sums(), kRows * pieces);
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t i = 0; i < extents.padded_cols(); ++i) {
          ASSERT_EQ(codes[r * extents.padded_cols() + i], want.owned.view.codes(r)[i])
              << group << " " << cols << " " << r << " " << i;
        }
        const std::span<const float> scale(want.owned.view.scales(r), pieces);
        const std::span<const float> share(want.owned.view.shares(r), pieces);
        EXPECT_EQ(differing_bits(std::span(scales).subspan(r * pieces, pieces), scale), 0U);
        EXPECT_EQ(differing_bits(std::span(shares).subspan(r * pieces, pieces), share), 0U);
        for (std::size_t p = 0; p < pieces; ++p) {
          EXPECT_EQ(sums[r * pieces + p], want.owned.view.sums(r)[p]);
        }
      }
    }
  }
}

/// Products of a format on the device, compared with the reference.
class ProductsOnDevice : public OnDevice, public testing::WithParamInterface<NamedFormat> {
 protected:
  /// Outputs that differ in a bit.
  static std::size_t differing_outputs(std::size_t outputs, std::size_t cols, std::size_t rows) {
    const RandomGroups weights(GetParam().format, outputs, cols, 3);
    const std::vector<float> x = some_rows(rows, cols);
    const Encoded encoded(x, rows, weights.extents);
    std::vector<float> want(rows * outputs);
    kernels::multiply_groups_reference(weights.format, weights.unpacker(), encoded.owned.view,
                                       MatrixView<float>(want.data(), rows, outputs, outputs));
    const kernels::PackedGroups packed = weights.packed();
    const GroupMatrix matrix(*programs, packed);
    const GroupInputs inputs(*programs, rows, matrix.extents());
    const auto buffer = on_device(x);
    const auto y = unset(rows * outputs);
    device->launch(inputs.encode(*buffer));
    device->launch(multiply_groups(matrix, inputs, *y));
    std::size_t differing = differing_bits(download<float>(*device, *y, rows * outputs), want);
    if (rows < kManyRows) {
      const auto other = unset(rows * outputs);
      device->launch(multiply_groups(matrix, {*buffer, rows}, *other));
      differing += differing_bits(download<float>(*device, *other, rows * outputs), want);
    }
    return differing;
  }
};

TEST_P(ProductsOnDevice, HaveTheBitsOfTheReference) {
  EXPECT_EQ(differing_outputs(130, 512, 1), 0U);
  EXPECT_EQ(differing_outputs(70, 1280, 3), 0U);
  EXPECT_EQ(differing_outputs(70, 256, 13), 0U);
  EXPECT_EQ(differing_outputs(17, 256, 256), 0U);
}

TEST_P(ProductsOnDevice, HaveThemWithRaggedExtents) {
  for (const std::size_t outputs : std::initializer_list<std::size_t>{1, 15, 63, 64, 65}) {
    // A codeword spans columns, and only whole groups have one.
    const bool is_vector = GetParam().format.basis != nullptr;
    for (const std::size_t cols : std::initializer_list<std::size_t>{
             64, 192, 320, is_vector ? std::size_t{448} : std::size_t{300}}) {
      EXPECT_EQ(differing_outputs(outputs, cols, 2), 0U) << outputs << " x " << cols;
    }
  }
}

TEST_P(ProductsOnDevice, RowsOfATableAreThoseOfTheFormat) {
  constexpr std::size_t kRows = 90;
  constexpr std::size_t kCols = 320;
  const RandomGroups weights(GetParam().format, kRows, kCols, 5);
  const GroupMatrix matrix(*programs, weights.packed());
  const std::vector<std::int32_t> ids = {89, 0, 63, 64, 1};
  const auto buffer = on_device(ids);
  const auto y = unset(ids.size() * kCols);
  device->launch(decode_rows(matrix, *buffer, ids.size(), *y));
  std::vector<float> want;
  for (const std::int32_t id : ids) {
    for (std::size_t i = 0; i < kCols; ++i) {
      const auto row = static_cast<std::size_t>(id);
      const std::size_t g = row * weights.extents.num_groups() + i / weights.format.group;
      const float product = weights.scales[g] * static_cast<float>(weights.levels[row * kCols + i]);
      want.push_back(weights.format.has_offsets ? product + weights.offsets[g] : product);
    }
  }
  EXPECT_EQ(differing_bits(download<float>(*device, *y, want.size()), want), 0U);
}

INSTANTIATE_TEST_SUITE_P(AllFormats, ProductsOnDevice, testing::ValuesIn(all_formats()),
                         [](const testing::TestParamInfo<NamedFormat>& each) {
                           std::string name = each.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

TEST_F(GroupsOnDevice, NotANumberMakesTheWholeRowOne) {
  const RandomGroups weights(kernels::kFourBits, 20, 96, 1);
  const std::vector<float> x = some_rows(1, 96, true);
  const GroupMatrix matrix(*programs, weights.packed());
  const GroupInputs inputs(*programs, 1, matrix.extents());
  const auto buffer = on_device(x);
  const auto y = on_device(std::vector<float>(20));
  device->launch(inputs.encode(*buffer));
  device->launch(multiply_groups(matrix, inputs, *y));
  for (const float each : download<float>(*device, *y, 20)) EXPECT_TRUE(std::isnan(each));
}

}  // namespace
}  // namespace halftone::gpu
