// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/number_range.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

constexpr int kMaxDigits = 18;
constexpr int kMaxDecimals = 14;
constexpr std::size_t kMoreDecimals = 12;

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// Integers in units of 10^-decimals.
struct Units {
  std::int64_t least = 0;
  std::int64_t most = 0;
  int decimals = 0;
};

/// "007" for 7 with three digits; "0.07" with a point in front of the last two.
std::string digits_of(std::int64_t units, int decimals) {
  std::string text = std::to_string(units);
  const auto least = static_cast<std::size_t>(decimals) + 1;
  if (text.size() < least) text.insert(0, least - text.size(), '0');
  if (decimals > 0) text.insert(text.size() - static_cast<std::size_t>(decimals), ".");
  return text;
}

/// Texts of digits and a point, of one length and with the point at one place.
class DigitRanges {
 public:
  explicit DigitRanges(Grammar& grammar) : grammar_(grammar) {}

  Choices between(std::string_view least, std::string_view most) {
    if (least.empty()) return {{}};
    const char low = least[0];
    const char high = most[0];
    const std::string_view rest = least.substr(1);
    if (low == high) {
      return grammar_.sequence({grammar_.text({&low, 1}), between(rest, most.substr(1))});
    }
    const std::string lowest = all(rest, '0');
    const std::string highest = all(rest, '9');
    const bool is_low_whole = rest == lowest;
    const bool is_high_whole = most.substr(1) == highest;
    std::vector<Choices> parts;
    if (!is_low_whole) {
      parts.push_back(grammar_.sequence({grammar_.text({&low, 1}), between(rest, highest)}));
    }
    const char first = static_cast<char>(low + (is_low_whole ? 0 : 1));
    const char last = static_cast<char>(high - (is_high_whole ? 0 : 1));
    if (first <= last) parts.push_back(grammar_.sequence({digit(first, last), any(rest)}));
    if (!is_high_whole) {
      parts.push_back(
          grammar_.sequence({grammar_.text({&high, 1}), between(lowest, most.substr(1))}));
    }
    return Grammar::either(std::move(parts));
  }

 private:
  static std::string all(std::string_view like, char digit) {
    std::string text(like);
    std::ranges::replace_if(
        text, [](char each) { return each != '.'; }, digit);
    return text;
  }
  Choices digit(char first, char last) {
    ByteSet set;
    for (char each = first; each <= last; ++each) set.set(static_cast<std::uint8_t>(each));
    return grammar_.byte(set);
  }
  Choices any(std::string_view like) {
    std::vector<Choices> parts;
    for (const char each : like) {
      parts.push_back(each == '.' ? grammar_.text(".") : digit('0', '9'));
    }
    return grammar_.sequence(std::move(parts));
  }
  Grammar& grammar_;
};

/// Multiples of a number of units, digit by digit with what they leave as a remainder.
class MultipleDigits {
 public:
  MultipleDigits(Grammar& grammar, std::int64_t step) : grammar_(grammar), step_(step) {}

  /// @param remainder  of the digits in front
  Choices between(std::string_view least, std::string_view most, std::int64_t remainder = 0) {
    if (least.empty()) return remainder == 0 ? Choices{{}} : Choices{};
    if (least[0] == '.') {
      return grammar_.sequence(
          {grammar_.text("."), between(least.substr(1), most.substr(1), remainder)});
    }
    if (is_all(least, '0') && is_all(most, '9')) return any(least, most, remainder);
    return digits(least, most, remainder);
  }

 private:
  static bool is_all(std::string_view text, char digit) {
    return std::ranges::all_of(text, [&](char each) { return each == digit || each == '.'; });
  }
  static std::string all(std::string_view like, char digit) {
    std::string text(like);
    std::ranges::replace_if(
        text, [](char each) { return each != '.'; }, digit);
    return text;
  }
  Choices digits(std::string_view least, std::string_view most, std::int64_t remainder) {
    std::vector<Choices> parts;
    for (char digit = least[0]; digit <= most[0]; ++digit) {
      const std::string_view low = least.substr(1);
      const std::string_view high = most.substr(1);
      parts.push_back(grammar_.sequence(
          {grammar_.text({&digit, 1}), between(digit == least[0] ? low : all(low, '0'),
                                               digit == most[0] ? high : all(high, '9'),
                                               (remainder * 10 + (digit - '0')) % step_)}));
    }
    return Grammar::either(std::move(parts));
  }
  Choices any(std::string_view least, std::string_view most, std::int64_t remainder) {
    const auto [found, is_new] = rules_.try_emplace({least.size(), remainder});
    if (is_new) {
      found->second = grammar_.declare("");
      const Symbol rule = found->second;
      grammar_.define(rule, digits(least, most, remainder));
      return {{rule}};
    }
    return {{found->second}};
  }

  Grammar& grammar_;
  std::int64_t step_;
  std::map<std::pair<std::size_t, std::int64_t>, Symbol> rules_;
};

/// The numbers between two texts of digits of the same length.
using Between = std::function<Choices(std::string_view least, std::string_view most)>;

/// Numbers of 0 and above, each number of digits on its own.
Choices positive(const Between& between, const Units& units) {
  std::vector<Choices> parts;
  std::int64_t least = units.least;
  while (least <= units.most) {
    const std::string low = digits_of(least, units.decimals);
    const auto length = std::ranges::count_if(low, [](char each) { return each != '.'; });
    const std::int64_t most = std::min(units.most, power_of_ten(static_cast<int>(length)) - 1);
    parts.push_back(between(low, digits_of(most, units.decimals)));
    if (length >= kMaxDigits) break;
    least = most + 1;
  }
  return Grammar::either(std::move(parts));
}

Choices with_signs(Grammar& grammar, const Units& units, const Between& between) {
  std::vector<Choices> parts;
  if (units.least < 0) {
    const Units mirrored{std::max<std::int64_t>(1, -units.most), -units.least, units.decimals};
    parts.push_back(grammar.sequence({grammar.text("-"), positive(between, mirrored)}));
  }
  if (units.most >= 0) {
    parts.push_back(
        positive(between, {std::max<std::int64_t>(0, units.least), units.most, units.decimals}));
  }
  return Grammar::either(std::move(parts));
}

Choices with_signs(Grammar& grammar, const Units& units) {
  return with_signs(grammar, units, [&](std::string_view least, std::string_view most) {
    return DigitRanges(grammar).between(least, most);
  });
}

int decimals_of(double number) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::size_t point = digits.find('.');
  if (error != std::errc{}) return kMaxDigits;
  return point == std::string_view::npos ? 0 : static_cast<int>(digits.size() - point - 1);
}

/// Digits in front of the point.
int whole_digits_of(double number) {
  int digits = 1;
  for (double rest = std::fabs(number); rest >= 10; rest /= 10) ++digits;
  return digits;
}

/// A bound in units, rounded towards the inside, and further if it does not count itself.
/// @param inside  1: upwards; -1: downwards
std::int64_t in_units(double bound, int decimals, bool is_exclusive, std::int64_t inside) {
  const auto unit = static_cast<double>(power_of_ten(decimals));
  if (!(std::fabs(bound) * unit < 1e15)) {
    fail(ErrorKind::kUnsupported,
         "bound of a number: expected at most 15 digits, found " + number_text(bound));
  }
  auto units = static_cast<std::int64_t>(std::nearbyint(bound * unit));
  // The double next to a decimal number is this quotient, since both are exact.
  const auto is_outside = [&] {
    const double found = static_cast<double>(units) / unit;
    const double past = (bound - found) * static_cast<double>(inside);
    return past > 0 || (past == 0 && is_exclusive);
  };
  while (is_outside()) units += inside;
  return units;
}

/// Bounds that the numbers here do not reach say nothing, and others of 16 digits and more begin
/// inside: languages write those of their types.
NumberBounds within_reach(NumberBounds bounds) {
  constexpr double kReach = 1e18;
  constexpr double kMaxExact = 999'999'999'999'999;
  if (bounds.least && *bounds.least <= -kReach) bounds.least.reset();
  if (bounds.most && *bounds.most >= kReach) bounds.most.reset();
  if (bounds.least && *bounds.least < -kMaxExact) bounds.least = -kMaxExact;
  if (bounds.most && *bounds.most > kMaxExact) bounds.most = kMaxExact;
  return bounds;
}

Units units_of(const NumberBounds& bounds, int decimals) {
  const std::int64_t limit = power_of_ten(kMaxDigits) - 1;
  Units units{-limit, limit, decimals};
  if (bounds.least) units.least = in_units(*bounds.least, decimals, bounds.is_above_least, 1);
  if (bounds.most) units.most = in_units(*bounds.most, decimals, bounds.is_below_most, -1);
  return units;
}

}  // namespace

Choices integers_between(Grammar& grammar, const NumberBounds& bounds) {
  return with_signs(grammar, units_of(within_reach(bounds), 0));
}

Choices multiples_between(Grammar& grammar, std::int64_t step, int decimals,
                          const NumberBounds& bounds) {
  MultipleDigits multiples(grammar, step);
  return with_signs(grammar, units_of(within_reach(bounds), decimals),
                    [&](std::string_view least, std::string_view most) {
                      return multiples.between(least, most);
                    });
}

Choices numbers_between(Grammar& grammar, const NumberBounds& given) {
  const NumberBounds bounds = within_reach(given);
  const bool is_open = bounds.is_above_least || bounds.is_below_most;
  int decimals = 0;
  int room = kMaxDecimals;
  for (const std::optional<double>& bound : {bounds.least, bounds.most}) {
    if (!bound) continue;
    decimals = std::max(decimals, decimals_of(*bound));
    room = std::min(room, kMaxDecimals + 1 - whole_digits_of(*bound));
  }
  const Units exact =
      units_of(bounds, std::clamp(decimals + (is_open ? 2 : 0), 0, std::max(room, 0)));
  // More decimals go away from 0, by less than a unit.
  Units inner = exact;
  if (inner.most >= 0) --inner.most;
  if (inner.least < 0) ++inner.least;
  ByteSet digits;
  for (char each = '0'; each <= '9'; ++each) digits.set(static_cast<std::uint8_t>(each));
  Choices more = grammar.repeat(grammar.byte(digits), 1, kMoreDecimals);
  if (exact.decimals == 0) more = grammar.sequence({grammar.text("."), std::move(more)});
  return Grammar::either({integers_between(grammar, bounds), with_signs(grammar, exact),
                          grammar.sequence({with_signs(grammar, inner), std::move(more)})});
}

}  // namespace halftone::lm
