// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/svg/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halftone/report/markup_testing.h"
#include "halftone/report/svg/picture.h"

namespace halftone::report::svg {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHuge = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

/// What holds for every picture.
void expect_picture(const std::string& svg) {
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_TRUE(svg.starts_with("<svg class=plot role=img aria-label=\"")) << svg;
  EXPECT_EQ(count(svg, " id="), 0U);
  EXPECT_EQ(count(svg, "<script"), 0U);
  EXPECT_EQ(count(svg, "nan"), 0U) << svg;
  EXPECT_EQ(count(svg, "inf"), 0U) << svg;
}

TEST(Picture, PixelsHaveOneDecimalAtMost) {
  EXPECT_EQ(pixels(12), "12");
  EXPECT_EQ(pixels(12.34), "12.3");
  EXPECT_EQ(pixels(-0.01), "0");
  EXPECT_EQ(pixels(99.96), "100");
}

TEST(Picture, ValuesHaveFourDigits) {
  EXPECT_EQ(value_text(12.3456), "12.35");
  EXPECT_EQ(value_text(kInfinity), "∞");
  EXPECT_EQ(value_text(-kInfinity), "-∞");
  EXPECT_EQ(value_text(kNan), "–");
}

TEST(Picture, LongTextsKeepWholeCharactersAtBothEnds) {
  EXPECT_EQ(shortened("abcde", 5), "abcde");
  EXPECT_EQ(shortened("abcdef", 5), "ab…ef");
  EXPECT_EQ(shortened("äöüß∞…", 5), "äö…∞…");
  EXPECT_EQ(shortened("", 5), "");
}

TEST(Picture, OfJoinedNamesTheFirstIsShown) {
  EXPECT_EQ(short_name("a/b;c/d", 7), "a/b;c/d");
  EXPECT_EQ(short_name("a/b;c/de", 7), "a/b;…");
  EXPECT_EQ(short_name("abcdefgh;c", 7), "ab…gh;…");
  EXPECT_EQ(short_name("abcdefgh", 7), "abc…fgh");
}

TEST(Picture, MarkupInTextsIsEscaped) {
  EXPECT_EQ(markup("<b a=\"1\">&\x01\xFF"), "&lt;b a=&quot;1&quot;&gt;&amp;\\x01\\xFF");
  EXPECT_EQ(label(1, 2.5, "", "<"), "<text x=1 y=2.5>&lt;</text>");
}

TEST(Picture, EveryColourHasAValueForPagesWithoutVariables) {
  const std::string style = picture_style();
  EXPECT_EQ(count(style, "var(--h,var("), 4U);
  EXPECT_EQ(count(style, "var(--"), count(style, ",#") + 4);
}

TEST(Bars, HaveARowPerValueAndStartAtZero) {
  const std::string svg = bars("SQNR in dB", {{"conv1", 20, ""}, {"conv2", -10, ""}});
  expect_picture(svg);
  // 300 pixels are 30 dB, zero is at 290.
  EXPECT_THAT(svg, HasSubstr("class=bar d=\"M290 24h200v11H290zM190 40h100v11H190z\"/>"));
  EXPECT_THAT(svg, HasSubstr(">conv1</text>"));
  EXPECT_THAT(svg, HasSubstr(">-10</text>"));
}

TEST(Bars, TitlesAreUnderThePointer) {
  const std::string svg = bars("t", {{"a", 1, "first"}, {std::string(50, 'b'), 1, ""}});
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr("\"><title>first</title></path>"));
  EXPECT_THAT(svg, HasSubstr("<title>" + std::string(50, 'b') + "</title>bbb"));
}

TEST(Bars, ValuesThatAreNotFiniteHaveARowWithoutABar) {
  const std::string svg =
      bars("t", {{"a", kNan, ""}, {"b", kInfinity, ""}, {"c", kHuge, ""}, {"d", 1, ""}});
  expect_picture(svg);
  EXPECT_EQ(count(svg, "v11H"), 1U);
  EXPECT_EQ(count(svg, "<text"), 1 + 2 * 4U);
  EXPECT_THAT(svg, HasSubstr("∞"));
}

TEST(Bars, EscapeTexts) {
  const std::string svg = bars("</svg><script>", {{"<b>", 1, "\"<i>"}});
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
}

TEST(Bars, NoValuesAreSaidSo) {
  const std::string svg = bars("t", {});
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr("no values"));
  expect_picture(bars("t", {{"a", 0, ""}}));
}

TEST(Histogram, IsOneOutline) {
  const std::string svg = histogram({"w", -1, 1, {1, 4, 0, 2}, {}, {}});
  expect_picture(svg);
  // 46 units of two pixels are 4, and 324 pixels are the range.
  EXPECT_THAT(
      svg, HasSubstr("transform=\"matrix(81 0 0 -2 8 116)\" d=\"M0 0v12h1v34h1v-46h1v23h1V0z\""));
}

TEST(Histogram, LevelsHaveDotsAndThresholdsAreDashed) {
  const std::string svg = histogram({"w", 0, 1, {1, 1}, {0.25, 0.5}, {0.375}});
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr("class=level d=\"M89 24v92M170 24v92\""));
  EXPECT_THAT(svg, HasSubstr("class=knobs d=\"M89 24h0M170 24h0\""));
  EXPECT_THAT(svg, HasSubstr("class=limit d=\"M129.5 24v92\""));
}

TEST(Histogram, LevelsOutsideWidenTheAxis) {
  const std::string svg = histogram({"w", 0, 1, {1}, {2}, {kNan, kInfinity}});
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr("matrix(162 0 0 -2 8 116)\" d=\"M0 0v46h1V0z\""));
  EXPECT_EQ(count(svg, "class=limit"), 0U);
}

TEST(Histogram, BadCountsAndRangesHaveNoColumns) {
  for (const HistogramPlot& plot :
       {HistogramPlot{"w", 0, 1, {}, {}, {}}, HistogramPlot{"w", 0, 1, {0, kNan}, {}, {}},
        HistogramPlot{"w", 3, 3, {5}, {}, {}}, HistogramPlot{"w", kNan, 1, {5}, {}, {}},
        HistogramPlot{"w", -kHuge, kHuge, {5}, {}, {}}}) {
    const std::string svg = histogram(plot);
    expect_picture(svg);
    EXPECT_EQ(count(svg, "class=bar"), 0U);
  }
}

TEST(Histogram, OfSixtyFourIntervalsIsSmall) {
  HistogramPlot plot{"layer1.0.conv1", -0.731, 0.694, {}, {-0.4, -0.1, 0.1, 0.4}, {}};
  for (int i = 0; i < 64; ++i) plot.counts.push_back(i * (64 - i) + i % 7);
  EXPECT_LT(histogram(plot).size(), 1000U);
}

Plot example() {
  return {"front",
          "bytes",
          "loss",
          {{"found", {{0, 1, "a", false}, {10, 3, "", true}}, false},
           {"line", {{0, 0, "", false}, {10, 5, "", false}}, true}},
          false,
          false};
}

TEST(PlotOfSeries, HasAxesLegendDotsAndRings) {
  const std::string svg = plot(example());
  expect_picture(svg);
  EXPECT_EQ(count(svg, "class=line"), 1U);
  EXPECT_THAT(svg, HasSubstr("class=line d=\"M62 284L532 44\""));
  EXPECT_EQ(count(svg, "class=dot>"), 1U);
  EXPECT_EQ(count(svg, "class=\"ring\""), 1U);
  EXPECT_THAT(svg, HasSubstr(">found</text>"));
  EXPECT_THAT(svg, HasSubstr(">bytes</text>"));
}

TEST(PlotOfSeries, LegendsTakeAsManyLinesAsTheyNeed) {
  Plot many{"t", "x", "y", {}, false, false};
  for (int i = 0; i < 8; ++i) {
    many.series.push_back(
        {"a series with a label " + std::to_string(i), {{0, 1, "", false}}, true});
  }
  const std::string svg = plot(many);
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr("height=390"));
  EXPECT_EQ(count(svg, "<path class=\"dots h"), 8U);
}

TEST(PlotOfSeries, LinesBreakWhereAPointCannotBeShown) {
  Plot broken{
      "t",
      "",
      "",
      {{"", {{0, 1, "", false}, {1, kNan, "", false}, {2, 1, "", false}, {3, 2, "", false}}, true}},
      false,
      false};
  const std::string svg = plot(broken);
  expect_picture(svg);
  const std::string line = svg.substr(svg.find("class=line"), 60);
  EXPECT_EQ(count(line.substr(0, line.find("/>")), "M"), 2U);
}

TEST(PlotOfSeries, LogarithmicAxesOmitWhatIsNotPositive) {
  Plot log{"t",
           "",
           "",
           {{"",
             {{1, 0, "zero", false},
              {10, 1, "ten", false},
              {1000, 100, "thousand", false},
              {kTiny, 1, "tiny", false}},
             false}},
           true,
           true};
  const std::string svg = plot(log);
  expect_picture(svg);
  EXPECT_EQ(count(svg, "class=dot>"), 2U);
  EXPECT_THAT(svg, HasSubstr(">ten<"));
  EXPECT_THAT(svg, Not(HasSubstr(">zero<")));
}

TEST(PlotOfSeries, LogarithmicAxesEndAtRoundValues) {
  const Series series{"", {{3e4, 1, "", false}, {4e5, 1, "", false}}, true};
  const std::string svg = plot({"t", "", "", {series}, true, false});
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr(">20000</text>"));
  EXPECT_THAT(svg, HasSubstr(">500000</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">10000</text>")));
  EXPECT_THAT(svg, Not(HasSubstr(">1e+06</text>")));
}

TEST(PlotOfSeries, BetweenIntegersAreNoTicks) {
  const Series series{"", {{1, 0.5, "", false}, {2, 1, "", false}, {3, 2, "", false}}, true};
  const std::string svg = plot({"t", "", "", {series}, false, false});
  expect_picture(svg);
  EXPECT_EQ(count(svg, "class=\"mid soft\""), 3U);
  EXPECT_THAT(svg, Not(HasSubstr(">2.5</text>")));
}

TEST(PlotOfSeries, AnyRangeHasAxes) {
  for (const double value : {0.0, 1.0, -3.5, 1e-320, 1e300, -1e300, 1e-30}) {
    for (const bool is_log : {false, true}) {
      Plot single{"t", "", "", {{"", {{value, value, "", false}}, true}}, is_log, is_log};
      expect_picture(plot(single));
      single.series[0].points.push_back({value * (1 + 1e-15), -value, "", false});
      expect_picture(plot(single));
    }
  }
  Plot wide{"t",  "",   "", {{"", {{1e-300, -1e300, "", false}, {1e300, 1e300, "", false}}, true}},
            true, false};
  expect_picture(plot(wide));
}

TEST(PlotOfSeries, NoPointsAreSaidSo) {
  const std::string svg = plot({"t", "", "", {{"a", {{kNan, 1, "", false}}, true}}, false, false});
  expect_picture(svg);
  EXPECT_THAT(svg, HasSubstr("no values"));
}

TEST(Plot, NamesPointsWhereThatCoversNoOtherName) {
  Series near{"", {}, false};
  for (const char* name : {"first", "second", "third"})
    near.points.push_back({1, 1, "", false, name});
  near.points.push_back({9, 9, "", false, "far <away>"});
  const std::string svg = plot({"names", "x", "y", {near}});
  EXPECT_THAT(svg, HasSubstr(">first</text>"));
  EXPECT_THAT(svg, HasSubstr(">second</text>"));  // on the other side
  EXPECT_EQ(count(svg, ">third</text>"), 0U);
  EXPECT_THAT(svg, HasSubstr(">far &lt;away&gt;</text>"));
}

TEST(Plot, DimsASeriesAndDrawsLinesWithoutDots) {
  Series line{"roof", {{1, 1, ""}, {2, 2, ""}}};
  line.has_dots = false;
  line.is_dim = true;
  const std::string svg = plot({"lines", "x", "y", {line}});
  EXPECT_THAT(svg, HasSubstr("<g class=\"h1 dim\"><path class=line"));
  EXPECT_EQ(count(svg, "<path class=dots"), 0U);
}

TEST(Plot, HasTicksWithPrefixes) {
  const std::string svg =
      plot({"ticks", "x", "y", {{"", {{1e9, 1, ""}, {1e12, 10, ""}}}}, true, true});
  EXPECT_THAT(svg, HasSubstr(">1 G</text>"));
  EXPECT_THAT(svg, HasSubstr(">1 T</text>"));
}

TEST(FileOf, IsXmlWithTheRulesOfItsClasses) {
  const std::string title = "a=b \"c\" </svg>";
  const std::string file = file_of(plot({title, "x=1", "y", {{"s", {{1, 2, "p=q"}, {2, 3, ""}}}}}));
  EXPECT_TRUE(is_well_formed(file)) << file;
  EXPECT_THAT(file,
              testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\""));
  EXPECT_THAT(file, HasSubstr("<style>svg.plot"));
  EXPECT_THAT(file, HasSubstr(">x=1</text>"));
  EXPECT_THAT(file, HasSubstr("<title>p=q</title>"));
  EXPECT_EQ(count(file, "=class"), 0U);
  EXPECT_EQ(count(file, " class=h"), 0U);  // all values have quotes
  EXPECT_EQ(count(file, " x=6"), 0U);
}

}  // namespace
}  // namespace halftone::report::svg
