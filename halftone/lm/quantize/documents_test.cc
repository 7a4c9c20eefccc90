// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/documents.h"

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Documents, EndAtTheStrongestBorderOfTheText) {
  EXPECT_THAT(split_documents("a\nb\n"), ElementsAre("a\nb\n"));
  EXPECT_THAT(split_documents("a\nb\n \t\nc\n\nd"), ElementsAre("a\nb\n \t\n", "c\n\n", "d"));
  EXPECT_THAT(split_documents("a\n\nb\n\n\nc\r\n\r\n\r\nd"),
              ElementsAre("a\n\nb\n\n\n", "c\r\n\r\n\r\n", "d"));
  EXPECT_THAT(split_documents(" \n = One = \n \n a \n = = Part = = \n b\n \n\n = Two = \n \n c"),
              ElementsAre(" \n = One = \n \n a \n = = Part = = \n b\n \n\n", " = Two = \n \n c"));
}

TEST(Documents, AreNotDividedByBlankLinesAtTheEnds) {
  EXPECT_THAT(split_documents("\n\n\na\n\nb\n\n\n\n"), ElementsAre("\n\n\na\n\n", "b\n\n\n\n"));
  EXPECT_THAT(split_documents("\n \n"), ElementsAre("\n \n"));
  EXPECT_THAT(split_documents(""), IsEmpty());
}

TEST(Documents, HaveTitlesOfOneMark) {
  for (const char* text : {"a\n= =\nb", "a\n== b ==\nc", "a\n= = b = =\nc", "a\n=b=\nc"}) {
    EXPECT_THAT(split_documents(text), ElementsAre(text));
  }
  EXPECT_THAT(split_documents("a\n= b =\nc"), ElementsAre("a\n", "= b =\nc"));
}

}  // namespace
}  // namespace halftone::lm
