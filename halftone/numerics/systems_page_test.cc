// SPDX-License-Identifier: Apache-2.0
// The table and the picture of docs/number_systems.md, made from the table of number systems.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "halftone/numerics/systems.h"

namespace halftone::numerics {
namespace {

constexpr const char* kPage = HALFTONE_SOURCE_DIR "/docs/number_systems.md";
constexpr const char* kPicture = HALFTONE_SOURCE_DIR "/docs/number_systems.svg";
constexpr const char* kBegin = "| system |";
constexpr const char* kAdvice =
    "is out of date: run the tests NumberSystemsPage with HALFTONE_WRITE_NUMBER_SYSTEMS=1";

std::string contents_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Compares a text with the file, or writes it there.
void expect_file(const char* path, const std::string& text) {
  if (std::getenv("HALFTONE_WRITE_NUMBER_SYSTEMS") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  EXPECT_TRUE(contents_of(path) == text) << path << ' ' << kAdvice;
}

std::string number(double x, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << x;
  return text.str();
}

/// With two to four digits after the point.
std::string shortest(double x) {
  int digits = 2;
  while (digits < 4 && std::abs(std::stod(number(x, digits)) - x) > 1e-9) ++digits;
  return number(x, digits);
}

std::string range(int first, int last) {
  return first == last ? std::to_string(first)
                       : std::to_string(first) + " to " + std::to_string(last);
}

/// The arithmetic that the levels allow: see Codebook.
std::string arithmetic(const NumberSystem& system, int bits) {
  const auto codebook = codebook_of(system, bits);
  if (codebook == nullptr) return "bits";
  const bool has_bits = !codebook->coefficients().empty();
  if (has_bits && codebook->fits_integers()) return "bits, 8-bit integers";
  return has_bits ? "bits" : codebook->fits_integers() ? "8-bit integers" : "float";
}

std::string arithmetic(const NumberSystem& system) {
  std::string text;
  for (int bits = system.min_bits; bits <= system.max_bits;) {
    const std::string kind = arithmetic(system, bits);
    int last = bits;
    while (last < system.max_bits && arithmetic(system, last + 1) == kind) ++last;
    if (!text.empty()) text += "; ";
    text += kind;
    if (system.min_bits != system.max_bits) text += ": " + range(bits, last);
    bits = last + 1;
  }
  return text;
}

std::string storage(const NumberSystem& system) {
  const ScaleStorage scales = scale_storage(system, system.blocks.granularity);
  std::string text{to_string(scales.type)};
  if (scales.factor) {
    text += ", one " + std::string(to_string(*scales.factor)) + " per " +
            (scales.share == 0 ? "tensor" : std::to_string(scales.share) + " groups");
  }
  if (system.has_offset) text += ", offset likewise";
  return text;
}

/// Bits of a weight with its share of the scales, n weights per channel.
std::string bits_per_weight(const NumberSystem& system) {
  const BlockShape blocks = system.blocks;
  const ScaleStorage scales = scale_storage(system, blocks.granularity);
  const int kinds = system.has_offset ? 2 : 1;
  const int own = kinds * stored_bits(scales.type);
  const bool is_fixed = system.min_bits == system.max_bits;
  if (blocks.granularity == Granularity::kGroup) {
    const auto group = static_cast<double>(blocks.group_size);
    double share = own / group;
    if (scales.share != 0) {
      share += kinds * stored_bits(*scales.factor) / (group * static_cast<double>(scales.share));
    }
    return is_fixed ? number(system.max_bits + share, 2) : "K + " + shortest(share);
  }
  const std::string bits = is_fixed ? std::to_string(system.max_bits) : "K";
  if (blocks.granularity == Granularity::kTensor) return bits;
  if (system.is_learned()) return "K + 32 (K + 1) / n";
  return bits + " + " + std::to_string(own) + " / n";
}

std::string table() {
  std::string text = std::string(kBegin) +
                     " bits K | a level | scales | shared by | bits per weight | runs on |\n"
                     "|---|---|---|---|---|---|---|\n";
  for (const NumberSystem& system : number_systems()) {
    const BlockShape blocks = system.blocks;
    std::string shared{to_string(blocks.granularity)};
    if (blocks.group_size != 0) shared += " of " + std::to_string(blocks.group_size);
    text += "| " + std::string(system.name) + " | " + range(system.min_bits, system.max_bits) +
            " | " + std::string(system.formula) + " | " + storage(system) + " | " + shared + " | " +
            bits_per_weight(system) + " | " + arithmetic(system) + " |\n";
  }
  return text;
}

TEST(NumberSystemsPage, HasTheTable) {
  const std::string page = contents_of(kPage);
  const std::size_t begin = page.find(kBegin);
  ASSERT_NE(begin, std::string::npos) << kPage << " has no table";
  const std::size_t end = page.find("\n\n", begin) + 1;
  expect_file(kPage, page.substr(0, begin) + table() + page.substr(end));
}

/// Levels as fractions of the block's largest magnitude, as far as they are near it.
std::vector<double> fractions(const NumberSystem& system, int bits) {
  const auto codebook = codebook_of(system, bits);
  ValueRange block;
  block.add(std::vector{-1.0F, 1.0F});
  const auto [scale, offset] = block_scale(*codebook, system.rule, block, system.largest);
  std::vector<double> result;
  for (const float level : codebook->sorted()) {
    const double x = level * scale + offset;
    if (std::abs(x) <= 1.25) result.push_back(x);
  }
  return result;
}

struct Row {
  std::string name;
  std::vector<double> fractions;
};

/// Four bits if the system has them, and eight if it has no even levels; no levels twice.
std::vector<Row> rows() {
  std::vector<Row> few;
  std::vector<Row> many;
  const auto add = [](std::vector<Row>& rows, const NumberSystem& system, int bits) {
    Row row{std::string(system.name), fractions(system, bits)};
    if (system.min_bits != system.max_bits) row.name += ", " + std::to_string(bits) + " bits";
    const bool is_new = std::ranges::none_of(
        rows, [&](const Row& other) { return other.fractions == row.fractions; });
    if (is_new) rows.push_back(row);
  };
  for (const NumberSystem& system : number_systems()) {
    // The levels of block formats are those of their elements.
    const bool is_drawn = system.family != "blocks" && system.rule != ScaleRule::kUnit;
    if (system.is_learned() || !is_drawn) continue;
    const int bits = system.allows(4) ? 4 : system.max_bits;
    add(bits <= 4 ? few : many, system, bits);
    const bool is_even = codebook_of(system, bits)->is_even();
    if (bits <= 4 && system.allows(8) && !is_even) add(many, system, 8);
  }
  few.insert(few.end(), many.begin(), many.end());
  return few;
}

std::string picture() {
  constexpr double kRowHeight = 24;
  constexpr double kMiddle = 430;
  constexpr double kHalf = 240;
  const std::vector<Row> all = rows();
  const std::string height = number(kRowHeight * (static_cast<double>(all.size()) + 2), 0);
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 " + height +
                     "\" font-family=\"sans-serif\" font-size=\"13\">\n"
                     "<title>The levels of the number systems</title>\n"
                     "<rect width=\"760\" height=\"" +
                     height + "\" fill=\"#ffffff\"/>\n";
  double y = kRowHeight;
  for (const auto& [name, fractions] : all) {
    const std::string base = number(y, 0);
    text += "<text x=\"12\" y=\"" + base + "\" fill=\"#222\">" + name + "</text>\n<path d=\"M" +
            number(kMiddle - 1.25 * kHalf, 0) + " " + base + "H" +
            number(kMiddle + 1.25 * kHalf, 0) + "\" stroke=\"#bbb\"/>\n<path d=\"";
    for (const double x : fractions)
      text += "M" + number(kMiddle + kHalf * x, 1) + " " + base + "v-14";
    text += "\" stroke=\"#c2452d\"/>\n";
    y += kRowHeight;
  }
  for (const int x : {-1, 0, 1}) {
    text += "<text x=\"" + number(kMiddle + kHalf * x, 0) + "\" y=\"" + number(y, 0) +
            "\" text-anchor=\"middle\" fill=\"#555\">" +
            (x == 0  ? "0"
             : x < 0 ? "−max|x|"
                     : "max|x|") +
            "</text>\n";
  }
  return text + "</svg>\n";
}

TEST(NumberSystemsPage, HasThePicture) { expect_file(kPicture, picture()); }

}  // namespace
}  // namespace halftone::numerics
