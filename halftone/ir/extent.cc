// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/extent.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/real.h"

namespace halftone::ir {
namespace {

constexpr std::size_t kMaxTerms = 256;
constexpr std::size_t kMaxText = 4096;
/// Handles lie below all multiples of the batch that shapes can have.
constexpr Dim kFirstHandle = -(Dim{1} << 50);
/// Bounds the table of expressions, which only grows.
constexpr std::size_t kMaxExpressions = std::size_t{1} << 20;

[[noreturn]] void fail_size() {
  fail(ErrorKind::kShape, "an extent is too long an expression, or exceeds 64 bits");
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail_size();
  return product;
}

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail_size();
  return sum;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// A sum as an operand.
std::string in_parentheses(const Extent& extent) {
  const std::string text = extent.text();
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

std::string product_text(const std::vector<std::shared_ptr<const Extent::Atom>>& atoms) {
  std::string text;
  for (const auto& atom : atoms) text.append(text.empty() ? "" : "*").append(atom->text);
  if (text.size() > kMaxText) fail_size();
  return text;
}

/// The expressions that have handles, by their texts. Handles never change or go away, since any
/// graph may hold them.
class Expressions {
 public:
  Dim handle(const Extent& extent) {
    const std::string text = extent.text();
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = handles_.try_emplace(text, kFirstHandle - std::ssize(held_));
    if (is_new) {
      if (held_.size() >= kMaxExpressions) fail_size();
      held_.push_back(extent);
      count_.store(std::ssize(held_), std::memory_order_release);
    }
    return entry->second;
  }
  /// Other numbers of their range are extents beyond all bounds.
  [[nodiscard]] bool holds(Dim handle) const {
    return handle <= kFirstHandle && handle > kFirstHandle - count_.load(std::memory_order_acquire);
  }
  const Extent& at(Dim handle) {
    const std::lock_guard lock(mutex_);
    return held_[static_cast<std::size_t>(kFirstHandle - handle)];
  }

 private:
  std::mutex mutex_;
  std::atomic<std::ptrdiff_t> count_{0};
  std::deque<Extent> held_;  // elements keep their addresses
  std::unordered_map<std::string, Dim> handles_;
};

Expressions& expressions() {
  static Expressions all;
  return all;
}

}  // namespace

Extent::Extent(std::int64_t number) {
  if (number != 0) terms_[""] = {number, {}};
}

Extent Extent::of_atom(Atom atom) {
  Extent extent;
  const auto held = std::make_shared<const Atom>(std::move(atom));
  if (held->text.size() > kMaxText) fail_size();
  extent.terms_[held->text] = {1, {held}};
  return extent;
}

namespace {

/// Whether an operation has a float as an operand.
bool reads_reals(Extent::AtomKind kind) { return kind > Extent::AtomKind::kReal; }

/// An operand as a text: floats that are known by their value.
std::string operand_text(const Extent& operand, bool is_real) {
  const auto number = is_real ? Real::of_bits(operand).number() : std::nullopt;
  if (!number) return operand.text();
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *number).ptr;
  return {digits.data(), end};
}

}  // namespace

Extent Extent::of(AtomKind kind, const Extent& a, const Extent& b) {
  static constexpr const char* kNames[] = {"",           "",        "min",      "max",
                                           "float",      "product", "quotient", "sum",
                                           "difference", "floor",   "ceil",     "round"};
  const bool is_real = reads_reals(kind);
  std::string text = kNames[static_cast<std::size_t>(kind)];
  text += "(" + operand_text(a, is_real);
  const bool has_two = kind < AtomKind::kReal || (is_real && kind < AtomKind::kFloor);
  if (has_two) text += ", " + operand_text(b, is_real);
  return of_atom({kind, text + ")", a, b});
}

Extent Extent::symbol(const std::string& name) { return of_atom({Atom::Kind::kSymbol, name}); }

std::optional<std::int64_t> Extent::number() const {
  if (terms_.empty()) return 0;
  if (terms_.size() > 1 || !terms_.begin()->first.empty()) return std::nullopt;
  return terms_.begin()->second.factor;
}

std::optional<std::string> Extent::name() const {
  if (terms_.size() != 1) return std::nullopt;
  const Term& term = terms_.begin()->second;
  const bool is_one = term.factor == 1 && term.atoms.size() == 1;
  if (!is_one || term.atoms[0]->kind != Atom::Kind::kSymbol) return std::nullopt;
  return term.atoms[0]->text;
}

void Extent::add_symbols(std::set<std::string>& names) const {
  for (const auto& [text, term] : terms_) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == Atom::Kind::kSymbol) {
        names.insert(atom->text);
      } else {
        atom->a.add_symbols(names);
        atom->b.add_symbols(names);
      }
    }
  }
}

bool Extent::depends_on_batch() const {
  std::set<std::string> names;
  add_symbols(names);
  return names.contains(kBatchSymbol);
}

std::string Extent::text() const {
  if (terms_.empty()) return "0";
  std::string text;
  const auto add_term = [&](const std::string& product, std::int64_t factor) {
    const bool is_negative = factor < 0;
    if (!text.empty()) text += is_negative ? " - " : " + ";
    if (text.empty() && is_negative) text += "-";
    std::string digits = std::to_string(factor);
    if (is_negative) digits.erase(0, 1);
    if (product.empty()) {
      text += digits;
    } else {
      text += (digits == "1" ? "" : digits + "*") + product;
    }
  };
  for (const auto& [product, term] : terms_) {
    if (!product.empty()) add_term(product, term.factor);
  }
  const auto constant = terms_.find("");
  if (constant != terms_.end()) add_term("", constant->second.factor);
  return text;
}

void Extent::add(const std::string& text, const Term& term) {
  Term& mine = terms_[text];
  mine.factor = checked_sum(mine.factor, term.factor);
  mine.atoms = term.atoms;
  if (mine.factor == 0) terms_.erase(text);
  if (terms_.size() > kMaxTerms) fail_size();
}

Extent Extent::operator+(const Extent& other) const {
  Extent sum = *this;
  for (const auto& [text, term] : other.terms_) sum.add(text, term);
  return sum;
}

Extent Extent::operator-(const Extent& other) const { return *this + other * Extent(-1); }

Extent Extent::operator*(const Extent& other) const {
  Extent product;
  for (const auto& [text, term] : terms_) {
    for (const auto& [other_text, other_term] : other.terms_) {
      Term joined{checked_product(term.factor, other_term.factor), term.atoms};
      joined.atoms.insert(joined.atoms.end(), other_term.atoms.begin(), other_term.atoms.end());
      std::ranges::sort(joined.atoms, {}, [](const auto& atom) { return atom->text; });
      product.add(product_text(joined.atoms), joined);
    }
  }
  return product;
}

namespace {

using Atoms = std::vector<std::shared_ptr<const Extent::Atom>>;

/// The term of the highest degree, and of these the first by the texts of its factors: an order
/// that products keep.
const Extent::Term& leading_term(const std::map<std::string, Extent::Term>& terms) {
  const auto texts = [](const Atoms& atoms) {
    std::vector<std::string_view> result;
    for (const auto& atom : atoms) result.push_back(atom->text);
    return result;
  };
  const auto leads = [&](const auto& a, const auto& b) {
    const Atoms& x = a.second.atoms;
    const Atoms& y = b.second.atoms;
    return x.size() != y.size() ? x.size() > y.size() : texts(x) < texts(y);
  };
  return std::ranges::min_element(terms, leads)->second;
}

/// A term divided by another one; nothing if a rest remains.
std::optional<Extent::Term> term_quotient(const Extent::Term& term, const Extent::Term& divisor) {
  if (term.factor % divisor.factor != 0) return std::nullopt;
  Atoms rest = term.atoms;
  for (const auto& atom : divisor.atoms) {
    const auto found = std::ranges::find(rest, atom->text, &Extent::Atom::text);
    if (found == rest.end()) return std::nullopt;
    rest.erase(found);
  }
  return Extent::Term{term.factor / divisor.factor, std::move(rest)};
}

}  // namespace

std::optional<Extent> Extent::exact_quotient(const Extent& divisor) const {
  if (terms_.size() * divisor.terms_.size() > kMaxTerms) return std::nullopt;
  const Term& below = leading_term(divisor.terms_);
  Extent quotient;
  Extent rest = *this;
  while (!rest.terms_.empty()) {
    const auto next = term_quotient(leading_term(rest.terms_), below);
    if (!next) return std::nullopt;
    Extent part;
    part.add(product_text(next->atoms), *next);
    quotient = quotient + part;
    rest = rest - part * divisor;
  }
  return quotient;
}

Extent Extent::over_number(std::int64_t divisor) const {
  // floor((k x + r) / k) = x + floor(r / k)
  Extent whole;
  Extent rest;
  for (const auto& [text, term] : terms_) {
    const std::int64_t quotient = floor_quotient(term.factor, divisor);
    const bool splits = text.empty() || term.factor % divisor == 0;
    if (splits) whole.add(text, {quotient, term.atoms});
    rest.add(text, {splits ? term.factor - quotient * divisor : term.factor, term.atoms});
  }
  // A quotient of extents stays one, for files whose division rounds towards zero.
  if (!rest.is_at_least(0) && is_at_least(0)) {
    whole = Extent();
    rest = *this;
  }
  if (const auto number = rest.number()) return whole + floor_quotient(*number, divisor);
  // floor(floor(x / a) / b) = floor(x / (a b))
  const Term& first = rest.terms_.begin()->second;
  const bool is_quotient = rest.terms_.size() == 1 && first.factor == 1 &&
                           first.atoms.size() == 1 && first.atoms[0]->kind == Atom::Kind::kQuotient;
  if (is_quotient && first.atoms[0]->b.is_number()) {
    return whole + first.atoms[0]->a.over(first.atoms[0]->b * divisor);
  }
  const std::string text = "floor(" + in_parentheses(rest) + "/" + std::to_string(divisor) + ")";
  return whole + of_atom({Atom::Kind::kQuotient, text, rest, divisor});
}

Extent Extent::over(const Extent& divisor) const {
  if (const auto number = divisor.number()) {
    if (*number <= 0) {
      fail(ErrorKind::kShape, "an extent divided by " + std::to_string(*number));
    }
    return over_number(*number);
  }
  if (const auto exact = exact_quotient(divisor)) return *exact;
  const std::string text = "floor(" + in_parentheses(*this) + "/" + in_parentheses(divisor) + ")";
  return of_atom({Atom::Kind::kQuotient, text, *this, divisor});
}

namespace {

/// Whether a value is a function of this kind that has another one as an argument.
bool is_of(const Extent& value, Extent::Atom::Kind kind, const Extent& argument) {
  if (value.terms().size() != 1) return false;
  const Extent::Term& term = value.terms().begin()->second;
  if (term.factor != 1 || term.atoms.size() != 1 || term.atoms[0]->kind != kind) return false;
  return term.atoms[0]->a == argument || term.atoms[0]->b == argument;
}

}  // namespace

Extent Extent::least(const Extent& a, const Extent& b) {
  if (is_of(a, Atom::Kind::kLeast, b)) return a;
  if (is_of(b, Atom::Kind::kLeast, a)) return b;
  if ((b - a).is_at_least(0)) return a;
  if ((a - b).is_at_least(0)) return b;
  const bool ordered = a.text() <= b.text();
  const Extent& first = ordered ? a : b;
  return of(AtomKind::kLeast, first, ordered ? b : a);
}

Extent Extent::greatest(const Extent& a, const Extent& b) {
  if (is_of(a, Atom::Kind::kGreatest, b)) return a;
  if (is_of(b, Atom::Kind::kGreatest, a)) return b;
  if ((a - b).is_at_least(0)) return a;
  if ((b - a).is_at_least(0)) return b;
  const bool ordered = a.text() <= b.text();
  const Extent& first = ordered ? a : b;
  return of(AtomKind::kGreatest, first, ordered ? b : a);
}

namespace {

using Terms = std::map<std::string, Extent::Term>;

/// Whether a sum is at least a number for all symbols, by its terms alone: a product of symbols is
/// at least 1, one with other factors, or symbols that may be 0, at least 0 where these are.
bool is_plainly_at_least(const Terms& terms, std::int64_t number) {
  using Atom = Extent::Atom;
  std::int64_t low = 0;
  for (const auto& [text, term] : terms) {
    if (term.factor < 0 && !text.empty()) return false;
    bool all_symbols = true;
    for (const auto& atom : term.atoms) {
      const bool is_symbol = atom->kind == Atom::Kind::kSymbol;
      if (is_symbol && !is_computed(atom->text)) continue;
      all_symbols = false;
      if (is_symbol) continue;
      if (atom->kind == Atom::Kind::kRealDifference) return false;
      const bool both = atom->a.is_at_least(0) && atom->b.is_at_least(0);
      if (!both) return false;
    }
    if (all_symbols && __builtin_add_overflow(low, term.factor, &low)) return false;
  }
  return low >= number;
}

/// Lower bounds of f atom, each with the multiple that makes it whole.
struct Bounds {
  std::vector<std::pair<Extent, std::int64_t>> bounds;
  bool needs_all = false;  ///< whether only the smallest of them is one
};

/// f floor(a / b) is at least f (a - b + 1) / b, or f a / b where f < 0; f max(a, b) at least f a
/// and f b, or the smaller of these where f < 0, and f min(a, b) the other way round.
Bounds bounds_of(const Extent::Atom& atom, std::int64_t f) {
  using Kind = Extent::Atom::Kind;
  constexpr std::int64_t kMaxNumber = 1024;  // products stay below 2^63
  if (f < -kMaxNumber || f > kMaxNumber) return {};
  if (atom.kind == Kind::kQuotient) {
    const auto divisor = atom.b.number();
    if (!divisor || *divisor > kMaxNumber) return {};
    return {{{(f < 0 ? atom.a : atom.a - atom.b + 1) * f, *divisor}}};
  }
  if (atom.kind != Kind::kLeast && atom.kind != Kind::kGreatest) return {};
  return {{{atom.a * f, 1}, {atom.b * f, 1}}, (atom.kind == Kind::kLeast) == (f > 0)};
}

}  // namespace

bool Extent::is_at_least(std::int64_t number) const {
  constexpr int kMaxReplaced = 3;  // one after another
  constexpr std::size_t kMaxSummands = 8;
  if (const auto known = this->number()) return *known >= number;
  const std::function<bool(const Extent&, std::int64_t, int)> is_bounded =
      [&](const Extent& sum, std::int64_t least, int replaced) {
        if (is_plainly_at_least(sum.terms_, least)) return true;
        if (replaced == kMaxReplaced || sum.terms_.size() > kMaxSummands) return false;
        for (const auto& [text, term] : sum.terms_) {
          if (term.atoms.size() != 1) continue;
          Extent others = sum;
          others.terms_.erase(text);
          const Bounds found = bounds_of(*term.atoms[0], term.factor);
          const auto fits = [&](const auto& each) {
            return is_bounded(others * each.second + each.first, least * each.second, replaced + 1);
          };
          if (found.needs_all ? std::ranges::all_of(found.bounds, fits)
                              : std::ranges::any_of(found.bounds, fits)) {
            return true;
          }
        }
        return false;
      };
  return is_bounded(*this, number, 0);
}

Extent Extent::with(const Sizes& sizes) const {
  Extent sum;
  for (const auto& [text, term] : terms_) {
    Extent product(term.factor);
    for (const auto& atom : term.atoms) {
      Extent factor;
      if (atom->kind == Atom::Kind::kSymbol) {
        const auto found = sizes.find(atom->text);
        factor = found == sizes.end() ? symbol(atom->text) : extent_of(found->second);
      } else {
        const Extent a = atom->a.with(sizes);
        const Extent b = atom->b.with(sizes);
        factor = atom->kind == Atom::Kind::kQuotient   ? a.over(b)
                 : atom->kind == Atom::Kind::kLeast    ? least(a, b)
                 : atom->kind == Atom::Kind::kGreatest ? greatest(a, b)
                                                       : combined_reals(atom->kind, a, b);
      }
      product = product * factor;
    }
    sum = sum + product;
  }
  return sum;
}

bool is_expression(Dim extent) { return extent <= kFirstHandle && expressions().holds(extent); }

bool is_batch(Dim extent) { return is_open(extent) && !is_expression(extent); }

bool depends_on_batch(Dim extent) {
  return is_expression(extent) ? expressions().at(extent).depends_on_batch() : is_open(extent);
}

Extent extent_of(Dim extent) {
  if (is_expression(extent)) return expressions().at(extent);
  if (!is_open(extent)) return extent;
  return Extent::symbol(kBatchSymbol) * Extent(-extent);
}

Dim dim_of(const Extent& extent) {
  if (const auto number = extent.number()) {
    if (*number < 0) {
      fail(ErrorKind::kShape, "expected an extent of at least 0, found " + std::to_string(*number));
    }
    return *number;
  }
  if (extent.terms().size() == 1) {
    const auto& [text, term] = *extent.terms().begin();
    if (text == kBatchSymbol && term.factor > 0 && term.factor < -kFirstHandle) {
      return -term.factor;
    }
  }
  return expressions().handle(extent);
}

Shape with_sizes(const Shape& shape, const Sizes& sizes) {
  Shape result = shape;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (is_expression(shape[i])) result[i] = dim_of(extent_of(shape[i]).with(sizes));
  }
  return result;
}

bool has_expressions(const Shape& shape) {
  return std::ranges::any_of(shape.dims(), is_expression);
}

bool may_be_equal(Dim a, Dim b) {
  if (a == b) return true;
  if (!is_expression(a) && !is_expression(b)) return false;
  return !(extent_of(a) - extent_of(b)).is_number();
}

bool may_be_equal(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dims(), b.dims(), [](Dim x, Dim y) { return may_be_equal(x, y); });
}

bool may_be_at_most(Dim a, Dim b) {
  if (!is_open(a) && !is_open(b)) return a <= b;
  if (!is_expression(a) && !is_expression(b)) return a == b;
  const auto room = (extent_of(b) - extent_of(a)).number();
  return !room || *room >= 0;
}

Dim better_known(Dim a, Dim b) {
  if (!is_expression(a) || !is_expression(b)) return is_expression(a) ? b : a;
  const std::string first = extent_of(a).text();
  const std::string second = extent_of(b).text();
  const bool keeps = first.size() != second.size() ? first.size() < second.size() : first <= second;
  return keeps ? a : b;
}

void check_bounds(const Shape& shape) {
  Shape known = shape;
  for (std::size_t i = 0; i < known.rank(); ++i) {
    if (is_expression(known[i])) known[i] = 1;
  }
  static_cast<void>(known.with_batch(1).element_count());
}

}  // namespace halftone::ir
