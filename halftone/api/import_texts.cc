// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/import_texts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/data/npy.h"

namespace halftone {
namespace {

/// The whole text as a number, or nullopt.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

/// Splits "NAME=VALUE". Names of inputs contain no '=', values may.
std::pair<std::string, std::string> split(const std::string& text, const char* form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    fail(ErrorKind::kUsage, std::string("expected ") + form + ", found '" + text + "'");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

ir::Dim parse_extent(std::string_view text) {
  constexpr ir::Dim kMaxExtent = ir::Dim{1} << 40;
  if (text == "N") return ir::kBatch;
  const auto extent = parse_number<ir::Dim>(text);
  if (!extent || *extent < 1 || *extent > kMaxExtent) {
    fail(ErrorKind::kUsage,
         "expected extents from 1 to 2^40 or N, the batch, found '" + std::string(text) + "'");
  }
  return *extent;
}

ir::Shape parse_shape(std::string_view text) {
  std::vector<ir::Dim> dims;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    dims.push_back(parse_extent(text.substr(0, comma)));
    if (comma == text.size()) return ir::Shape(std::move(dims));
    text.remove_prefix(comma + 1);
  }
}

ir::Tensor scalar(const std::string& text) {
  if (const auto whole = parse_number<std::int64_t>(text)) {
    return ir::Tensor::from<std::int64_t>({}, std::span(&*whole, 1));
  }
  const auto number = parse_number<float>(text);
  if (!number || !std::isfinite(*number)) {
    fail(ErrorKind::kUsage, "expected a number or a .npy file, found '" + text + "'");
  }
  return ir::Tensor::from<float>({}, std::span(&*number, 1));
}

ir::Tensor read_constant(const std::string& path) {
  const data::NpyArray array = data::read_npy(path);
  const ir::Shape shape(std::vector<ir::Dim>(array.shape.begin(), array.shape.end()));
  if (data::is_integer(array.type)) {
    return ir::Tensor::from<std::int64_t>(shape, array.integers());
  }
  const std::vector<float> values = array.floats();
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
    fail(ErrorKind::kFormat, path + ": expected finite numbers, found NaN or infinity");
  }
  return ir::Tensor::from<float>(shape, values);
}

template <typename T>
void add_once(std::map<std::string, T>& options, const std::string& name, T value) {
  if (!options.emplace(name, std::move(value)).second) {
    fail(ErrorKind::kUsage, "input '" + name + "' is given twice");
  }
}

}  // namespace

formats::ImportOptions parse_import_options(const std::vector<std::string>& shapes,
                                            const std::vector<std::string>& constants) {
  formats::ImportOptions options;
  for (const std::string& text : shapes) {
    const auto [name, value] = split(text, "NAME=EXTENT,...");
    add_once(options.shapes, name, with_context("shape '" + text + "'", [&, &extents = value] {
               return parse_shape(extents);
             }));
  }
  for (const std::string& text : constants) {
    const auto [name, value] = split(text, "NAME=NUMBER or NAME=FILE.npy");
    const bool is_file = std::filesystem::path(value).extension() == ".npy";
    add_once(options.constants, name, with_context("constant '" + text + "'", [&, &stated = value] {
               return is_file ? read_constant(stated) : scalar(stated);
             }));
  }
  return options;
}

}  // namespace halftone
