// SPDX-License-Identifier: Apache-2.0
// The fields of a Description and what each kind of file calls them. Private to this folder.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// Names of one key of config.json, the commonest first, which messages show.
class ConfigNames {
 public:
  template <std::convertible_to<const char*>... Names>
  constexpr ConfigNames(Names... names)  // NOLINT(google-explicit-constructor): lists of names
      : names_{names...}, size_(sizeof...(Names)) {}
  [[nodiscard]] constexpr const char* const* begin() const { return names_.data(); }
  [[nodiscard]] constexpr const char* const* end() const { return names_.data() + size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

 private:
  std::array<const char*, 5> names_{};
  std::size_t size_ = 0;
};

/// Where a field lies in a description.
using FieldPlace =
    std::variant<bool*, std::size_t*, double*, std::string*, Norm*, Positions*, Pairing*,
                 FeedForward*, std::vector<Mixer>*, std::vector<std::size_t>*, std::vector<double>*,
                 std::vector<bool>*, RotaryAngles*>;

/// Which keys are read and written together: readers and writers say when.
enum class FieldPart : std::uint8_t {
  kNone,  ///< no key has the field as it is: it follows from others, from tensors or the name
  kSizes,
  kBlocks,
  kUnusedBlocks,
  kNorm,
  kLayerNorm,  ///< the same, by the name for layer norms
  kInner,
  kHeadCount,
  kKvHeads,
  kHeads,
  kWindowHeads,  ///< where blocks without a window have heads of another width
  kLatent,
  kQueryLatent,
  kLatentHeads,
  kCaps,
  kFactors,
  kWindow,
  kSharing,
  kStreams,
  kConvolution,
  kScan,
  kKernelBias,
  kScanHeads,
  kChannelScan,
  kRotaryDims,
  kBase,
  kWindowBase,
  kYarn,
  kExperts,
  kActiveExperts,
  kExpertInner,
  kSharedInner,
  kExpertGroups,
  kExpertShares,
};

/// Files of which kind must have a key, if its part is read.
enum class Needed : std::uint8_t { kNever, kInConfig, kInGguf, kAlways };

/// Since when Halftone's own files have a field.
enum class Since : std::uint8_t {
  kFirst,   ///< all have it
  kLater,   ///< those where it is not as usual
  kNoFile,  ///< none: the row is a further key of a field, or one that they need not
};

/// A row: a field, or a further key of one.
struct DescriptionField {
  const char* name;  ///< in Halftone's own files
  FieldPlace (*place)(Description&);
  Since since = Since::kLater;
  FieldPart part = FieldPart::kNone;
  ConfigNames config{};        ///< the first that a config.json has counts; empty: none
  const char* gguf = nullptr;  ///< behind the name of the architecture and a dot; null: none
  Needed needed = Needed::kNever;
};

/// All fields but unused_blocks are in it; the order is that of new files.
std::span<const DescriptionField> description_fields();

/// A field of RotaryAngles, which Halftone's own files have as an object.
struct AngleField {
  const char* name;
  FieldPlace (*place)(RotaryAngles&);
  Since since = Since::kLater;
};
std::span<const AngleField> angle_fields();

/// Calls visit(row, value) for each count, number and flag of a part.
template <typename Visit>
void visit_part(FieldPart part, Description& description, const Visit& visit) {
  for (const DescriptionField& field : description_fields()) {
    if (field.part != part) continue;
    const auto visit_value = [&](auto* value) {
      using Value = std::remove_pointer_t<decltype(value)>;
      constexpr bool kIsPlain = std::is_same_v<Value, bool> || std::is_same_v<Value, std::size_t> ||
                                std::is_same_v<Value, double>;
      if constexpr (kIsPlain) visit(field, *value);
    };
    std::visit(visit_value, field.place(description));
  }
}

}  // namespace halftone::lm
