// SPDX-License-Identifier: Apache-2.0
// Functions that a model may call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm {

struct ToolFunction {
  std::string name;
  std::string parameters;  ///< a JSON schema; empty: it has none
};

/// Types of values in JSON; integers are numbers.
enum class JsonType : std::uint8_t { kString, kNumber, kBoolean, kNull, kArray, kObject };
inline constexpr std::size_t kNumJsonTypes = 6;

/// The type of a value.
/// @pre json  is valid, without white space in front
JsonType type_of_json(std::string_view json);

/// A schema of values of one type.
struct TypedSchema {
  JsonType type;
  std::string schema;  ///< in JSON, with the definitions of the whole schema
};

struct FunctionParameter {
  std::string name;
  bool is_required = false;
  std::vector<TypedSchema> alternatives;  ///< a value follows one of them
};

/// The parameters of a function in the order of its schema, with references and choices of branches
/// resolved.
/// @throws Error kFormat of what is no schema of an object; kUnsupported of a reference to another
///         text, or of constraints beside branches
std::vector<FunctionParameter> parameters_of(const ToolFunction& function);

}  // namespace halftone::lm
