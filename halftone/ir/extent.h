// SPDX-License-Identifier: Apache-2.0
// Extents that a file leaves open: sums, products and quotients of named symbols. A Dim that is
// neither a number nor a multiple of the batch is the handle of such an expression.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "halftone/ir/shape.h"

namespace halftone::ir {

/// Numbers for symbols, by their names.
using Sizes = std::map<std::string, Dim>;

/// The symbol of the batch, kBatch.
inline constexpr const char* kBatchSymbol = "N";

/// Symbols that begin with this are numbers that the network computes: see Graph::define().
inline constexpr char kComputedMark = '#';
inline bool is_computed(const std::string& symbol) { return symbol.starts_with(kComputedMark); }

/// An integer that depends on symbols >= 1, or >= 0 where the network computes them: a sum of c x1
/// x2 ... with integers c, where each factor is a symbol, the floor of a quotient, a minimum or a
/// maximum of two such integers, or what float32 arithmetic makes of them (real.h). Two of equal
/// text() are equal; it depends on nothing but the operations and the names.
class Extent {
 public:
  Extent() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): numbers are extents
  Extent(std::int64_t number);
  /// @param name  kBatchSymbol is the batch
  static Extent symbol(const std::string& name);

  /// The value if it depends on nothing.
  [[nodiscard]] std::optional<std::int64_t> number() const;
  [[nodiscard]] bool is_number() const { return number().has_value(); }
  /// The name if it is a single symbol.
  [[nodiscard]] std::optional<std::string> name() const;
  void add_symbols(std::set<std::string>& names) const;
  [[nodiscard]] bool depends_on_batch() const;
  /// "2*H + W*floor(H/2) - 1": the texts of terms in order, the constant last.
  [[nodiscard]] std::string text() const;

  /// With numbers, or other extents, for some symbols. @throws Error kShape beyond 64 bits
  [[nodiscard]] Extent with(const Sizes& sizes) const;

  // @throws Error kShape beyond 64 bits, or for more than 256 terms
  Extent operator+(const Extent& other) const;
  Extent operator-(const Extent& other) const;
  Extent operator*(const Extent& other) const;
  /// The quotient, rounded down. @throws Error kShape unless the divisor can be positive
  [[nodiscard]] Extent over(const Extent& divisor) const;
  [[nodiscard]] static Extent least(const Extent& a, const Extent& b);
  [[nodiscard]] static Extent greatest(const Extent& a, const Extent& b);

  /// Whether it is at least a number for all symbols; false where that is not known.
  [[nodiscard]] bool is_at_least(std::int64_t number) const;

  bool operator==(const Extent& other) const { return text() == other.text(); }

  /// What an expression is made of, for writers of files.
  struct Atom;
  enum class AtomKind : std::uint8_t {
    kSymbol,
    kQuotient,
    kLeast,
    kGreatest,
    // Of floats, which are their bits: see real.h.
    kReal,  ///< the float nearest to an integer
    kRealProduct,
    kRealQuotient,
    kRealSum,
    kRealDifference,
    // Integers of floats.
    kFloor,
    kCeil,
    kRound,
  };
  /// A function of two integers, or of the first; never simplified.
  /// @throws Error kShape if it is too long an expression
  static Extent of(AtomKind kind, const Extent& a, const Extent& b);
  /// Names and atoms by the text of the product, each with its factor; "" is the constant.
  struct Term {
    std::int64_t factor = 0;
    std::vector<std::shared_ptr<const Atom>> atoms;  ///< shared by copies; sorted by text
  };
  [[nodiscard]] const std::map<std::string, Term>& terms() const { return terms_; }

 private:
  static Extent of_atom(Atom atom);
  /// The quotient if this is a multiple of the divisor.
  [[nodiscard]] std::optional<Extent> exact_quotient(const Extent& divisor) const;
  [[nodiscard]] Extent over_number(std::int64_t divisor) const;
  void add(const std::string& text, const Term& term);
  std::map<std::string, Term> terms_;
};

/// A symbol, or a function of one or two integers.
struct Extent::Atom {
  using Kind = AtomKind;
  Kind kind = Kind::kSymbol;
  std::string text;  ///< of a symbol: its name
  Extent a{};
  Extent b{};
};

/// Whether an extent is an expression: known neither as a number nor as a multiple of the batch.
bool is_expression(Dim extent);
/// Whether an extent is N or a multiple of it.
bool is_batch(Dim extent);
/// Whether an extent is the batch, a multiple of it, or an expression of it.
bool depends_on_batch(Dim extent);
/// The value of an extent. @pre extent != kRemaining
Extent extent_of(Dim extent);
/// The Dim of a value: a number, a multiple of the batch, or a handle. Equal values have equal
/// ones, on all threads.
/// @throws Error kShape for a negative number
Dim dim_of(const Extent& extent);

/// The shape with numbers for some symbols. @throws Error as dim_of(), Extent::with()
Shape with_sizes(const Shape& shape, const Sizes& sizes);
/// Whether an extent of a shape is an expression.
bool has_expressions(const Shape& shape);
/// Extents that agree for some sizes: equal ones, or an expression and anything else that is not a
/// known difference away. Which it is shows when the symbols get numbers.
bool may_be_equal(Dim a, Dim b);
/// The same of whole shapes.
bool may_be_equal(const Shape& a, const Shape& b);
/// Whether a may be at most b: numbers that are, the same extent, or expressions whose order only
/// numbers show.
bool may_be_at_most(Dim a, Dim b);
/// Of two that may_be_equal(), the one that says more: a number, else the shorter expression.
Dim better_known(Dim a, Dim b);
/// @throws Error kShape if known extents exceed the bound of Shape::element_count()
void check_bounds(const Shape& shape);

}  // namespace halftone::ir
