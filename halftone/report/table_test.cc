// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace halftone::report {
namespace {

TEST(Table, AlignsColumnsAndDropsTrailingBlanks) {
  Table table({{"layer", Table::Align::kLeft}, {"bits"}, {"note", Table::Align::kLeft}});
  table.add_row({"a", "10", ""});
  table.add_row({"dense", "2", "x"});
  EXPECT_EQ(table.to_text(),
            "layer  bits  note\n"
            "-----------------\n"
            "a        10\n"
            "dense     2  x\n");
}

TEST(Table, EscapesControlCharacters) {
  Table table({{"layer", Table::Align::kLeft}});
  table.add_row({"a\n\x1b[31mb"});
  EXPECT_EQ(table.to_text(), "layer\n--------------\na\\x0A\\x1B[31mb\n");
}

TEST(Clipped, KeepsTheBeginningAndTheEndOfLongNames) {
  EXPECT_EQ(clipped("dense"), "dense");
  const std::string forty(40, 'a');
  EXPECT_EQ(clipped(forty), forty);
  EXPECT_EQ(clipped("model/conv2d_1/" + forty + "/Relu"),
            "model/conv2d..." + std::string(20, 'a') + "/Relu");
  EXPECT_EQ(clipped(forty + "b").size(), 40U);
}

TEST(FormatBytes, ChoosesTheUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(10239), "10239 B");
  EXPECT_EQ(format_bytes(150733), "147.2 KiB");
  EXPECT_EQ(format_bytes(2226440), "2.1 MiB");
  EXPECT_EQ(format_bytes(std::size_t{3} << 30), "3.0 GiB");
}

TEST(FormatNumber, ShowsADashForWhatIsNotFinite) {
  EXPECT_EQ(format_number(1.25, 1), "1.2");
  EXPECT_EQ(format_number(std::numeric_limits<double>::infinity(), 1), "-");
}

}  // namespace
}  // namespace halftone::report
