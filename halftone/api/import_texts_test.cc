// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/import_texts.h"

#include "halftone/base/testing.h"
#include "halftone/data/npy.h"

namespace halftone {
namespace {

class ImportTexts : public WithFolder {};

TEST_F(ImportTexts, GiveShapesAndConstants) {
  const float values[] = {0.5F, -2};
  data::write_npy(path("a=b.npy"), data::make_npy(std::span<const float>(values), {2}));
  const auto options = parse_import_options({"x=1,3,320", "h:0=2,N,32"},
                                            {"sr=16000", "s=0.25", "f=" + path("a=b.npy")});
  EXPECT_EQ(options.shapes.at("x"), (ir::Shape{1, 3, 320}));
  EXPECT_EQ(options.shapes.at("h:0"), (ir::Shape{2, ir::kBatch, 32}));
  EXPECT_EQ(options.constants.at("sr").as<std::int64_t>()[0], 16000);
  EXPECT_EQ(options.constants.at("sr").shape().rank(), 0U);
  EXPECT_EQ(options.constants.at("s").as<float>()[0], 0.25F);
  EXPECT_THAT(options.constants.at("f").as<float>(), testing::ElementsAre(0.5F, -2));
}

TEST_F(ImportTexts, RejectOtherForms) {
  const auto expect_shape = [](const std::string& text, const std::string& message) {
    expect_error(ErrorKind::kUsage, message, [&] { parse_import_options({text}, {}); });
  };
  for (const char* text : {"x", "=1,2", "x="}) {
    expect_shape(text, std::string("expected NAME=EXTENT,..., found '") + text + "'");
  }
  for (const char* text : {"x=1,", "x=,1", "x=0", "x=-1", "x=1.5", "x=n", "x=2000000000000"}) {
    expect_shape(text, "expected extents from 1 to 2^40 or N");
  }
  for (const char* text : {"x=a", "x=nan", "x=inf", "x=1e99", "x=1,2"}) {
    expect_error(ErrorKind::kUsage, "expected a number or a .npy file",
                 [&] { parse_import_options({}, {text}); });
  }
  expect_error(ErrorKind::kUsage, "input 'x' is given twice", [] {
    parse_import_options({"x=1", "x=1"}, {});
  });
  expect_error(ErrorKind::kIo, "none.npy",
               [&] { parse_import_options({}, {"x=" + path("none.npy")}); });
  const float bad[] = {kNan};
  data::write_npy(path("nan.npy"), data::make_npy(std::span<const float>(bad), {1}));
  expect_error(ErrorKind::kFormat, "expected finite numbers",
               [&] { parse_import_options({}, {"x=" + path("nan.npy")}); });
}

}  // namespace
}  // namespace halftone
