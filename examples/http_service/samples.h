// SPDX-License-Identifier: Apache-2.0
// Bodies of requests and answers.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace service {

/// A request that its sender must change.
class BadRequest : public std::runtime_error {
 public:
  BadRequest(int status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  /// Of HTTP: 400, 413 or 415.
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

/// Appends the numbers of nested lists. @throws BadRequest if there is anything else in them
inline void append_numbers(const nlohmann::json& value, int depth, std::vector<float>& numbers) {
  constexpr int kMaxDepth = 8;
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (std::abs(number) > std::numeric_limits<float>::max()) {
      throw BadRequest(400, "'input': expected finite numbers of float32, found " + value.dump());
    }
    numbers.push_back(static_cast<float>(number));
  } else if (value.is_array() && depth < kMaxDepth) {
    for (const nlohmann::json& entry : value) append_numbers(entry, depth + 1, numbers);
  } else {
    throw BadRequest(400,
                     std::string("'input': expected numbers in at most 8 nested lists, found ") +
                         value.type_name());
  }
}

/// The samples of {"input": [...]}, one after another.
inline std::vector<float> samples_of_json(const std::string& body) {
  const nlohmann::json request = nlohmann::json::parse(body, nullptr, false);
  if (request.is_discarded()) throw BadRequest(400, "the body is no JSON");
  if (!request.is_object() || request.size() != 1 || !request.contains("input")) {
    throw BadRequest(400, "expected an object with the key 'input' only");
  }
  std::vector<float> numbers;
  append_numbers(request["input"], 0, numbers);
  return numbers;
}

/// The samples of raw float32, in the byte order of little-endian processors.
inline std::vector<float> samples_of_bytes(const std::string& body) {
  static_assert(std::endian::native == std::endian::little);
  if (body.size() % sizeof(float) != 0) {
    throw BadRequest(
        400, "expected float32 of 4 bytes each, found " + std::to_string(body.size()) + " bytes");
  }
  std::vector<float> numbers(body.size() / sizeof(float));
  std::memcpy(numbers.data(), body.data(), body.size());
  return numbers;
}

/// The samples of a body of a type. @param each  numbers of a sample
/// @throws BadRequest if it is of another type, empty, no whole number of samples, or not finite
inline std::vector<float> samples_of(const std::string& type, const std::string& body,
                                     std::size_t each) {
  const std::string name = type.substr(0, type.find(';'));
  if (name != "application/json" && name != "application/octet-stream") {
    throw BadRequest(415, "expected Content-Type application/json or application/octet-stream, " +
                              (name.empty() ? "found none" : "found '" + name + "'"));
  }
  std::vector<float> numbers =
      name == "application/json" ? samples_of_json(body) : samples_of_bytes(body);
  if (numbers.empty() || numbers.size() % each != 0) {
    throw BadRequest(400, "expected samples of " + std::to_string(each) + " numbers, found " +
                              std::to_string(numbers.size()) + " numbers");
  }
  for (const float x : numbers) {
    if (!std::isfinite(x)) throw BadRequest(400, "expected finite numbers, found NaN or infinity");
  }
  return numbers;
}

}  // namespace service
