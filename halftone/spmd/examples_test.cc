// SPDX-License-Identifier: Apache-2.0
// The examples of docs/spmd.md: each code block there is a verbatim copy from this file.
#include <fstream>
#include <sstream>
#include <string>

#include "halftone/base/testing.h"
#include "halftone/spmd/spmd.h"
#include "halftone/spmd/testing.h"

namespace halftone::spmd {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

Array convolve(const Array& x, const Array& w) {
  const auto in = x.as<float>();
  const auto taps = w.as<float>();
  return Array::make<float>({x.shape()[0] - 2}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = in[i] * taps[0] + in[i + 1] * taps[1] + in[i + 2] * taps[2];
    }
  });
}

Array normalized_convolve(const Array& x, const Array& w) {
  const Array y = convolve(x, w);
  const Array total = psum(y, "shards");
  return Array::make<float>(y.shape(), [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = y.as<float>()[i] / total.as<float>()[i];
    }
  });
}

const Array xs = Array::range<float>({8, 5});
const Array w = Array::of({2.F, 3.F, 4.F});
const Array ws = stack(std::vector<Array>(8, w));

std::vector<float> row(const Array& y, std::int64_t i) { return values<float>(y.slice(0, i)); }

TEST(Examples, AFunctionForOneDevice) {
  const Array y = convolve(Array::range<float>({5}), w);  // 11 20 29
  EXPECT_THAT(y.as<float>(), ElementsAre(11, 20, 29));
}

TEST(Examples, OnEightDevices) {
  const Devices devices = Devices::emulate(8);
  const auto pconvolve = pmap(convolve, {.devices = devices});
  const Sharded<Array> ys = pconvolve(xs, ws);
  const Array y = gather(ys);  // [8, 3]: 11 20 29, 56 65 74, ... 326 335 344
  EXPECT_EQ(y.type(), "float32[8, 3]");
  EXPECT_THAT(row(y, 0), ElementsAre(11, 20, 29));
  EXPECT_THAT(row(y, 1), ElementsAre(56, 65, 74));
  EXPECT_THAT(row(y, 7), ElementsAre(326, 335, 344));
}

TEST(Examples, ResultsStayOnTheirDevices) {
  const auto pconvolve = pmap(convolve, {.devices = Devices::emulate(8)});
  const Array y = gather(pconvolve(xs, pconvolve(xs, ws)));  // 78 138 198, ... 36198 37203 38208
  EXPECT_THAT(row(y, 0), ElementsAre(78, 138, 198));
  EXPECT_THAT(row(y, 7), ElementsAre(36198, 37203, 38208));
}

TEST(Examples, OneArgumentForAll) {
  const MapOptions options{.in_axes = {0, none}, .devices = Devices::emulate(8)};
  const Array y = gather(pmap(convolve, options)(xs, w));
  EXPECT_THAT(row(y, 0), ElementsAre(11, 20, 29));
  EXPECT_THAT(row(y, 7), ElementsAre(326, 335, 344));
}

void expect_normalized(const Array& y) {
  constexpr float kLastDigit = 5e-9F;  // half of the last digit of the values below
  EXPECT_THAT(row(y, 0),
              ElementsAre(FloatNear(0.00816024F, kLastDigit), FloatNear(0.01408451F, kLastDigit),
                          FloatNear(0.019437F, 5e-7F)));
  EXPECT_THAT(row(y, 7),
              ElementsAre(FloatNear(0.24183977F, 1.5e-8F), FloatNear(0.23591548F, 1.5e-8F),
                          FloatNear(0.23056298F, 1.5e-8F)));
}

TEST(Examples, LanesThatAddUp) {
  const MapOptions options{.axis_name = "shards", .devices = Devices::emulate(8)};
  const Array y = gather(pmap(normalized_convolve, options)(xs, ws));
  // 0.00816024 0.01408451 0.019437, ... 0.24183977 0.23591548 0.23056298
  expect_normalized(y);
}

TEST(Examples, TheSameAsABatch) {
  const auto vconvolve = vmap(convolve);
  const Array y = vconvolve(xs, ws);
  const Array twice = vconvolve(xs, vconvolve(xs, ws));
  const Array one_w = vmap(convolve, {.in_axes = {0, none}})(xs, w);
  const Array normalized = vmap(normalized_convolve, {.axis_name = "shards"})(xs, ws);
  EXPECT_THAT(row(y, 0), ElementsAre(11, 20, 29));
  EXPECT_THAT(row(y, 7), ElementsAre(326, 335, 344));
  EXPECT_THAT(row(twice, 0), ElementsAre(78, 138, 198));
  EXPECT_THAT(row(twice, 7), ElementsAre(36198, 37203, 38208));
  EXPECT_TRUE(same_bits(one_w, y));
  expect_normalized(normalized);
}

struct Line {
  Array slope = Array::scalar(0.F);
  Array offset = Array::scalar(0.F);
  static auto members(auto& self) { return std::tie(self.slope, self.offset); }
};

/// The gradient of the mean of (slope x + offset - y)^2 over the points of a shard.
Line gradient(const Line& line, const Array& x, const Array& y) {
  float by_slope = 0;
  float by_offset = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float error =
        line.slope.item<float>() * x.as<float>()[i] + line.offset.item<float>() - y.as<float>()[i];
    by_slope += 2 * error * x.as<float>()[i];
    by_offset += 2 * error;
  }
  const auto points = static_cast<float>(x.size());
  return {Array::scalar(by_slope / points), Array::scalar(by_offset / points)};
}

Line step(const Line& line, const Array& x, const Array& y) {
  constexpr float kRate = 0.005F;
  const Line mean = pmean(gradient(line, x, y), "devices");
  const auto moved = [](const Array& value, const Array& by) {
    return Array::scalar(value.item<float>() - kRate * by.item<float>());
  };
  return {moved(line.slope, mean.slope), moved(line.offset, mean.offset)};
}

/// y = 2 x - 1 plus noise, at 128 points.
std::pair<Array, Array> noisy_line() {
  Random random(0);
  std::vector<float> x;
  std::vector<float> y;
  for (int i = 0; i < 128; ++i) {
    x.push_back(static_cast<float>(random.normal()));
    y.push_back(2 * x.back() - 1 + 0.1F * static_cast<float>(random.normal()));
  }
  return {Array::from<float>({128}, x), Array::from<float>({128}, y)};
}

TEST(Examples, RegressionInDataParallel) {
  const auto [x, y] = noisy_line();
  const Devices devices = Devices::emulate(4);
  const Array x_shards = x.reshaped({4, 32});
  const Array y_shards = y.reshaped({4, 32});
  const auto pstep = pmap(step, {.axis_name = "devices", .devices = devices});
  const auto begin = pmap([] { return Line(); }, {.axis_size = 4, .devices = devices});
  Sharded<Line> line = begin();
  for (int i = 0; i < 1000; ++i) line = pstep(line, x_shards, y_shards);
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_TRUE(same_bits(line.at(d).slope, line.at(0).slope));
    EXPECT_TRUE(same_bits(line.at(d).offset, line.at(0).offset));
  }
  EXPECT_NEAR(line.at(0).slope.item<float>(), 2, 0.05);
  EXPECT_NEAR(line.at(0).offset.item<float>(), -1, 0.05);
}

TEST(Examples, MoreShardsThanDevices) {
  const Array rows = random_array<double>({10, 3}, 0);
  const auto squares = [](const Array& v) {
    return Array::make<double>({3, 3}, [&](std::span<double> out) {
      const auto in = v.as<double>();
      for (std::size_t i = 0; i < 9; ++i) out[i] = in[i / 3] * in[i % 3];
    });
  };
  const Array on_one = spread_sum(squares, {.devices = Devices::emulate(1)})(rows);
  const Array on_four = spread_sum(squares, {.devices = Devices::emulate(4)})(rows);
  // the same bits
  EXPECT_TRUE(same_bits(on_one, on_four));
}

TEST(Examples, NestedMaps) {
  const Array x = Array::range<float>({2, 4, 3});
  const auto mean = [](const Array& v) { return pmean(v, {"devices", "batch"}); };
  const auto pmean_of_all = pmap(vmap(mean, {.axis_name = "batch"}),
                                 {.axis_name = "devices", .devices = Devices::emulate(2)});
  const Array y = gather(pmean_of_all(x));  // [2, 4, 3]; each row 10.5 11.5 12.5
  EXPECT_EQ(y.type(), "float32[2, 4, 3]");
  EXPECT_THAT(values<float>(y.slice(0, 1).slice(0, 3)), ElementsAre(10.5, 11.5, 12.5));
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The lines without their indent.
std::vector<std::string> bare_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos) lines.push_back(line.substr(begin));
  }
  return lines;
}

TEST(Examples, AreThoseOfTheDocument) {
  const std::string folder = HALFTONE_SOURCE_DIR;
  const std::string document = text_of(folder + "/docs/spmd.md");
  const auto here = bare_lines(text_of(folder + "/halftone/spmd/examples_test.cc"));
  const std::string kBegin = "```cpp\n";
  int num_blocks = 0;
  for (std::size_t at = document.find(kBegin); at != std::string::npos;
       at = document.find(kBegin, at + 1)) {
    const std::size_t begin = at + kBegin.size();
    const auto block = bare_lines(document.substr(begin, document.find("```", begin) - begin));
    const auto found = std::search(here.begin(), here.end(), block.begin(), block.end());
    EXPECT_NE(found, here.end()) << block.front();
    ++num_blocks;
  }
  EXPECT_GE(num_blocks, 9);
}

}  // namespace
}  // namespace halftone::spmd
