// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/tensor_files.h"

#include <array>

#include "halftone/base/testing.h"
#include "halftone/data/npy.h"

namespace halftone {
namespace {

using ir::ElementType;
using testing::ElementsAre;

class TensorFiles : public WithFolder {};

TEST_F(TensorFiles, AreReadAsTheTypeAskedFor) {
  const std::vector<std::int64_t> numbers = {1, -2, 3, 4};
  data::write_npy(path("x.npy"), data::make_npy(std::span(numbers), {2, 2}));
  const ir::Tensor floats = read_tensor(path("x.npy"), ElementType::kFloat32);
  EXPECT_EQ(floats.shape(), (ir::Shape{2, 2}));
  EXPECT_THAT(floats.as<float>(), ElementsAre(1, -2, 3, 4));
  EXPECT_THAT(read_tensor(path("x.npy"), ElementType::kInt8).as<std::int8_t>(),
              ElementsAre(1, -2, 3, 4));
}

TEST_F(TensorFiles, AreWrittenForEveryElementType) {
  const std::vector<std::int64_t> numbers = {0, 1, 1};
  const ir::Tensor integers = ir::Tensor::from<std::int64_t>({3}, std::span(numbers));
  constexpr std::array kTypes = {ElementType::kFloat32, ElementType::kInt8,   ElementType::kUint8,
                                 ElementType::kBool,    ElementType::kInt16,  ElementType::kUint16,
                                 ElementType::kInt32,   ElementType::kUint32, ElementType::kInt64,
                                 ElementType::kUint64};
  for (const ElementType type : kTypes) {
    write_tensor(path("y.npy"), integers.cast(type));
    const data::NpyArray array = data::read_npy(path("y.npy"));
    EXPECT_THAT(array.shape, ElementsAre(3U));
    EXPECT_THAT(array.floats(), ElementsAre(0, 1, 1)) << static_cast<int>(type);
  }
}

TEST_F(TensorFiles, AreRefusedWithoutSamples) {
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(), {0, 4}));
  expect_error(ErrorKind::kShape, path("x.npy") + ": expected at least one sample, found shape",
               [&] { read_tensor(path("x.npy"), ElementType::kFloat32); });
  data::write_npy(path("past.npy"), data::make_npy(std::span<const float>(), {1, 0, 4}));
  EXPECT_EQ(read_tensor(path("past.npy"), ElementType::kFloat32).shape(), (ir::Shape{1, 0, 4}));
  expect_error(ErrorKind::kIo, path("none.npy"),
               [&] { read_tensor(path("none.npy"), ElementType::kFloat32); });
}

}  // namespace
}  // namespace halftone
