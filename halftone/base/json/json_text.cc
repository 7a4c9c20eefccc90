// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/json/json_text.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone {
namespace {

using nlohmann::json;

/// Sees the parts of a text in their order.
class Checker : public nlohmann::json_sax<json> {
 public:
  explicit Checker(const JsonBounds& bounds) : bounds_(bounds) {}

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override {
    check_depth();
    keys_.emplace_back();
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t /*size*/) override {
    check_depth();
    keys_.emplace_back();
    return true;
  }
  bool end_array() override { return leave(); }
  bool key(string_t& value) override {
    if (bounds_.has_unique_keys && !keys_.back().insert(value).second) {
      fail(ErrorKind::kFormat,
           "JSON: expected every key once, found '" + printable(value) + "' twice");
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    fail(ErrorKind::kFormat, "expected JSON, found other text at byte " + std::to_string(position));
  }

 private:
  void check_depth() const {
    if (keys_.size() < bounds_.depth) return;
    fail(ErrorKind::kFormat, "JSON: expected at most " + std::to_string(bounds_.depth) +
                                 " lists and objects in each other");
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  const JsonBounds& bounds_;
  std::vector<std::unordered_set<std::string>> keys_;  ///< of the objects around this place
};

}  // namespace

void check_json(std::string_view text, const JsonBounds& bounds) {
  Checker checker(bounds);
  (void)json::sax_parse(text, &checker);
}

std::string json_of_python(std::string_view text) {
  constexpr std::string_view kNumbers[] = {"-Infinity", "Infinity", "NaN"};
  std::string json;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_in_string && text[i] == '\\') {
      json += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') is_in_string = !is_in_string;
    const auto is_here = [&](std::string_view number) {
      return text.substr(i).starts_with(number);
    };
    const auto* const found = std::ranges::find_if(kNumbers, is_here);
    if (is_in_string || found == std::end(kNumbers)) {
      json += text[i];
      continue;
    }
    json += R"({"__float__": ")" + std::string(*found) + R"("})";
    i += found->size() - 1;
  }
  return json;
}

}  // namespace halftone
