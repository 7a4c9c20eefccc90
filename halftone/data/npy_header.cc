// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/data/npy.h"

namespace halftone::data {
namespace {

[[noreturn]] void fail_header(const std::string& message) {
  fail(ErrorKind::kFormat, "npy: " + message);
}

/// Parser for the Python literals that NumPy writes into headers.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  /// Skips white space and consumes the next character if it is `wanted`.
  bool accept(char wanted) {
    skip_space();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) {
      fail_header(std::string("expected '") + wanted + "' in the header, found " + next());
    }
  }
  /// 'text' or "text", without escapes.
  std::string_view string() {
    skip_space();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      fail_header("expected a string in the header, found " + next());
    const std::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"False", "True"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    fail_header("expected True or False in the header, found " + next());
  }
  /// (), (3,), (3, 4)
  std::vector<std::size_t> shape() {
    std::vector<std::size_t> extents;
    expect('(');
    while (!accept(')')) {
      if (extents.size() == kMaxExtents) fail_header("expected at most 32 extents, found more");
      extents.push_back(extent());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }
  bool at_end() {
    skip_space();
    return text_.empty();
  }

 private:
  static constexpr std::size_t kMaxExtents = 32;

  void skip_space() {
    const std::size_t start = text_.find_first_not_of(" \n\t\r");
    text_.remove_prefix(start == std::string_view::npos ? text_.size() : start);
  }
  std::size_t extent() {
    skip_space();
    std::size_t value = 0;
    std::size_t digits = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
      const auto digit = static_cast<std::size_t>(text_[digits] - '0');
      if (value > (std::numeric_limits<std::size_t>::max() - digit) / 10) {
        fail_header("an extent of the shape overflows");
      }
      value = value * 10 + digit;
    }
    if (digits == 0) fail_header("expected an extent in the shape, found " + next());
    text_.remove_prefix(digits);
    return value;
  }
  /// The next characters, printable in a one-line message.
  [[nodiscard]] std::string next() const {
    if (text_.empty()) return "its end";
    return "'" + printable_line(text_.substr(0, 20)) + "'";
  }

  std::string_view text_;
};

/// '<f4': byte order, kind, bytes.
void parse_descr(std::string_view descr, NpyHeader& header) {
  struct Entry {
    std::string_view code;
    Scalar type;
  };
  static constexpr std::array<Entry, 12> kTypes = {{{"f2", Scalar::kFloat16},
                                                    {"f4", Scalar::kFloat32},
                                                    {"f8", Scalar::kFloat64},
                                                    {"i1", Scalar::kInt8},
                                                    {"i2", Scalar::kInt16},
                                                    {"i4", Scalar::kInt32},
                                                    {"i8", Scalar::kInt64},
                                                    {"u1", Scalar::kUInt8},
                                                    {"u2", Scalar::kUInt16},
                                                    {"u4", Scalar::kUInt32},
                                                    {"u8", Scalar::kUInt64},
                                                    {"b1", Scalar::kBool}}};
  std::string_view code = descr;
  constexpr bool kLittle = std::endian::native == std::endian::little;
  if (!code.empty() && std::string_view("<>=|").find(code.front()) != std::string_view::npos) {
    header.swapped = code.front() == (kLittle ? '>' : '<');
    code.remove_prefix(1);
  }
  for (const Entry& entry : kTypes) {
    if (entry.code != code) continue;
    header.type = entry.type;
    return;
  }
  fail(ErrorKind::kUnsupported, "npy: expected float, integer or bool elements, found type '" +
                                    printable_line(descr.substr(0, 20)) + "'");
}

void parse_dictionary(std::string_view text, NpyHeader& header) {
  LiteralReader reader(text);
  std::array<bool, 3> seen{};
  reader.expect('{');
  while (!reader.accept('}')) {
    const std::string_view key = reader.string();
    reader.expect(':');
    if (key == "descr") {
      if (reader.accept('[')) fail(ErrorKind::kUnsupported, "npy: structures are not supported");
      parse_descr(reader.string(), header);
      seen[0] = true;
    } else if (key == "fortran_order") {
      header.fortran_order = reader.boolean();
      seen[1] = true;
    } else if (key == "shape") {
      header.shape = reader.shape();
      seen[2] = true;
    } else {
      fail_header(
          "expected descr, fortran_order or shape as a key in the header, found another key");
    }
    if (!reader.accept(',')) {
      reader.expect('}');
      break;
    }
  }
  if (!reader.at_end()) {
    fail_header("expected the end of the header after its dictionary, found more text");
  }
  if (!seen[0] || !seen[1] || !seen[2]) {
    fail_header("expected descr, fortran_order and shape in the header, found only some of them");
  }
}

std::size_t product(const std::vector<std::size_t>& shape) {
  std::size_t elements = 1;
  for (const std::size_t extent : shape) {
    if (extent == 0) return 0;
    if (elements > std::numeric_limits<std::size_t>::max() / extent) {
      fail_header("the product of the shape's extents overflows");
    }
    elements *= extent;
  }
  return elements;
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  ByteReader reader(file);
  NpyHeader header;
  with_context("npy", [&] {
    const auto magic = reader.take(kMagic.size());
    if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
      fail(ErrorKind::kFormat, "expected the magic '\\x93NUMPY', found something else");
    }
    const auto major = reader.little_endian<std::uint8_t>();
    reader.take(1);
    if (major < 1 || major > 3) {
      fail(ErrorKind::kFormat, "expected version 1 to 3, found " + std::to_string(major));
    }
  });
  const auto text = with_context("npy", [&] {
    const bool wide = std::to_integer<int>(file[kMagic.size()]) > 1;
    const std::size_t length =
        wide ? reader.little_endian<std::uint32_t>() : reader.little_endian<std::uint16_t>();
    return reader.take(length);
  });
  parse_dictionary({reinterpret_cast<const char*>(text.data()), text.size()}, header);
  header.data_offset = reader.position();
  header.num_elements = product(header.shape);
  const std::size_t element_bytes = size_bytes(header.type);
  if (reader.remaining() % element_bytes != 0 ||
      reader.remaining() / element_bytes != header.num_elements) {
    fail_header("expected " + std::to_string(header.num_elements) + " elements of type " +
                std::string(to_string(header.type)) + ", found " +
                std::to_string(reader.remaining()) + " bytes");
  }
  return header;
}

}  // namespace halftone::data
