// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "halftone/export_c/export_c.h"
#include "halftone/export_c/texts.h"
#include "halftone/export_c/vectors.h"

namespace halftone::export_c {
namespace {

std::string first_line(const std::string& rest) {
  return "/* " + std::string(kMark) + ": " + rest + " */\n";
}

std::string port_macro(const FileContext& context, bool is_input, std::size_t i) {
  return upper(context.name) + (is_input ? "_INPUT_" : "_OUTPUT_") + std::to_string(i) + "_SIZE";
}

std::int64_t highest_code(const InputCodes& codes) {
  return codes.lowest + static_cast<std::int64_t>(codes.levels.size()) - 1;
}

/// What the elements of an input or output mean, behind its type.
std::string meaning_of(const ArenaPort& port) {
  if (port.codes) {
    return ",\n   value = scale * (code - zero point), scale " +
           fmt::format("{:.6g}", port.codes->scales.front());
  }
  if (port.taken) {
    return fmt::format(",\n   value = {:.6g} code + {:.6g}, codes from {} to {}", port.taken->scale,
                       port.taken->offset, port.taken->lowest, highest_code(*port.taken));
  }
  if (port.levels.empty()) return "";
  const auto [low, high] = std::ranges::minmax(port.levels);
  return fmt::format(",\n   rounded to {} levels from {:.6g} to {:.6g}", port.levels.size(), low,
                     high);
}

/// The constants of codes.
std::string code_macros(const FileContext& context, const ArenaPort& port,
                        const std::string& which) {
  if (port.taken) {
    const std::string start = "#define " + upper(context.name) + which;
    return start + "SCALE " + exact(port.taken->scale) + "\n" + start + "OFFSET " +
           exact(port.taken->offset) + "\n";
  }
  if (!port.codes) return "";
  const std::string define = "#define " + upper(context.name) + which;
  return define + "SCALE " + exact(port.codes->scales.front()) + "\n" + define + "ZERO_POINT (" +
         std::to_string(port.codes->zero_points.front()) + ")\n";
}

/// The constants and the function of an input or output.
std::string port_text(const FileContext& context, bool is_input, std::size_t i) {
  const ArenaPort& port = (is_input ? context.program.inputs : context.program.outputs)[i];
  const std::string kind = is_input ? "input" : "output";
  const std::string type(port.c.type);
  const std::string offset = std::to_string(port.offset / port.c.bytes());
  const std::string function = "static inline " + type + " *" + context.name + "_" + kind + "_" +
                               std::to_string(i) + "(" + context.name +
                               "_state *net) {\n  return net->arena." + std::string(port.c.member) +
                               " + " + offset + ";\n}\n\n";
  return "/* " + std::string(is_input ? "Input" : "Output") + " '" + in_comment(port.name) +
         "': " + port.type.to_string() + meaning_of(port) + ". */\n#define " +
         port_macro(context, is_input, i) + " " + std::to_string(port.type.shape.element_count()) +
         "\n" +
         code_macros(context, port, (is_input ? "_INPUT_" : "_OUTPUT_") + std::to_string(i) + "_") +
         (port.pointer.empty() ? function : "\n");
}

/// The address of a value.
std::string address_in(const Place& place, const CType& c) {
  if (!place.pointer.empty()) return "net->" + place.pointer;
  return "net->arena." + std::string(c.member) + " + " + std::to_string(place.offset / c.bytes());
}

std::string pointer(const std::string& name, const CType& c, const Place& place, bool is_const) {
  return "  " + std::string(is_const ? "const " : "") + std::string(c.type) + " *" + name + " = " +
         address_in(place, c) + ";\n";
}

/// Calls text(declaration, name) for each pointer that a run takes.
template <typename Text>
std::string pointers_text(const Program& program, const Text& text) {
  std::string all;
  for (const ArenaPort& port : program.inputs) {
    if (!port.pointer.empty()) {
      all += text("const " + std::string(port.c.type) + " *" + port.pointer, port.pointer);
    }
  }
  for (const ArenaPort& port : program.outputs) {
    if (!port.pointer.empty())
      all += text(std::string(port.c.type) + " *" + port.pointer, port.pointer);
  }
  return all;
}

/// "void net_run(net_state *net)", with what else it takes.
std::string run_signature(const FileContext& context) {
  return "void " + context.name + "_run(" + context.name + "_state *net" +
         pointers_text(context.program, [](const std::string& declaration,
                                           const std::string&) { return ", " + declaration; }) +
         ")";
}

std::string function_text(const FileContext& context, std::size_t i) {
  const PlacedLayer& placed = context.program.layers[i];
  const LayerFunction& layer = placed.layer;
  std::string text =
      "/* Layer " + std::to_string(i) + ", '" + in_comment(layer.name) + "': " + layer.op +
      ",\n   " + in_comment(placed.types) + (layer.is_by_pixel ? ", of pixel p. */" : ". */") +
      "\nstatic void " + context.name + "_layer_" + std::to_string(i) + "(" + context.name +
      "_state *net" + (layer.is_by_pixel ? ", int32_t p, float *sums" : "") + ") {\n";
  for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
    text += pointer(layer.inputs[k].name, placed.input_types[k], placed.inputs[k], true);
  }
  std::size_t scratch = placed.scratch;
  for (const Scratch& each : layer.scratch) {
    text += pointer(each.name, scratch_type(each.type), {scratch, {}}, false);
    scratch += each.bytes;
  }
  if (!layer.is_by_pixel) {
    text += pointer(layer.output.name, placed.output_type, placed.output, false);
  }
  return text + layer.body + "}\n\n";
}

std::string copy_line(const std::string& name, const CType& c, std::size_t elements,
                      const Place& from, const Place& to) {
  return "  memcpy(" + address_in(to, c) + ", " + address_in(from, c) + ", " +
         std::to_string(elements * c.bytes()) + "); /* '" + in_comment(name) + "' */\n";
}

/// The lines behind the layers: they copy outputs, then make states what layers have left for them.
std::string keep_text(const Program& program) {
  std::string text;
  for (const ArenaCopy& copy : program.copies) {
    text += copy_line(copy.name, copy.c, copy.elements, copy.from, copy.to);
  }
  for (const ArenaState& state : program.states) {
    if (state.next == state.place) continue;
    text += copy_line(state.name, state.c, state.elements, state.next, state.place);
  }
  return text;
}

/// The function that makes states zeros; empty without states.
std::string reset_text(const FileContext& context) {
  if (context.program.states.empty()) return "";
  std::string text = "\nvoid " + context.name + "_reset(" + context.name + "_state *net) {\n";
  for (const ArenaState& state : context.program.states) {
    text += "  memset(" + address_in(state.place, state.c) + ", 0, " +
            std::to_string(state.elements * state.c.bytes()) + "); /* '" + in_comment(state.name) +
            "' */\n";
  }
  return text + "}\n";
}

std::set<std::string> texts_of(const Program& program) {
  std::set<std::string> names;
  for (const PlacedLayer& each : program.layers) {
    names.insert(each.layer.texts.begin(), each.layer.texts.end());
  }
  return names;
}

/// Characters of a C text without comments, spaces together counting as one.
std::size_t characters_of(std::string_view text) {
  std::size_t count = 0;
  bool is_space = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "/*") i = std::min(text.find("*/", i) + 2, text.size() - 1);
    const bool again = text[i] == ' ' || text[i] == '\n';
    if (!again || !is_space) ++count;
    is_space = again;
  }
  return count;
}

std::string declaration(const ConstantArray& array) {
  return "const " + array.type + " " + array.name + "[" + std::to_string(array.count) + "]";
}

std::string literal(const ir::Tensor& tensor) {
  if (tensor.element() == ir::ElementType::kInt8) return elements_text(tensor.as<std::int8_t>());
  if (tensor.element() == ir::ElementType::kUint8 || tensor.element() == ir::ElementType::kBool) {
    return elements_text(tensor.cast(ir::ElementType::kInt32).as<std::int32_t>());
  }
  if (tensor.element() == ir::ElementType::kInt32) return elements_text(tensor.as<std::int32_t>());
  if (tensor.element() == ir::ElementType::kInt64) return elements_text(tensor.as<std::int64_t>());
  return elements_text(tensor.as<float>());
}

}  // namespace

std::string in_comment(const std::string& text) {
  std::string result;
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    const bool is_plain = code >= ' ' && code < 127;
    const bool ends = each == '/' && result.ends_with('*');
    const bool begins = each == '*' && result.ends_with('/');
    result += is_plain && !ends && !begins && each != '\\' ? each : '?';
  }
  return result;
}

std::string upper(const std::string& name) {
  std::string text;
  for (const char each : name) {
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
  }
  return text;
}

std::size_t code_bytes(const Program& program) {
  constexpr std::size_t kKernelPercent = 22;
  constexpr std::size_t kLayerPercent = 18;
  const v0::CExport sizes;
  const std::string name = "net";
  const FileContext context{program, name, sizes};
  std::size_t kernels = 0;
  for (const EmbeddedText* each : with_needs(texts_of(program))) {
    kernels += characters_of(body_of(*each));
  }
  std::size_t layers = 0;
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    constexpr std::size_t kCallCharacters = 60;  // in the function that runs the network
    layers += characters_of(function_text(context, i)) + kCallCharacters;
  }
  return (kKernelPercent * kernels + kLayerPercent * layers) / 100;
}

namespace {

/// The type of the state.
std::string state_text(const FileContext& context) {
  const std::string big = upper(context.name);
  const auto words = [&](const std::string& element, int bytes) {
    return "    " + element + "[" + big + "_ARENA_BYTES / " + std::to_string(bytes) + "];\n";
  };
  return "/* All that a run reads and writes: no two runs at a time may share one. */\n"
         "typedef struct {\n  union {\n    int8_t i8[" +
         big + "_ARENA_BYTES];\n    uint8_t u8[" + big + "_ARENA_BYTES];\n" +
         words("int32_t i32", 4) + words("uint32_t u32", 4) + words("float f32", 4) +
         (has_member(context.program, "i64") ? words("int64_t i64", 8) : "") +
         (has_member(context.program, "f64") ? words("double f64", 8) : "") + "  } arena;\n" +
         pointers_text(context.program,
                       [](const std::string& declaration, const std::string&) {
                         return "  " + declaration + ";\n";
                       }) +
         "} " + context.name + "_state;\n\n";
}

/// The declarations of the functions.
std::string functions_text(const FileContext& context) {
  std::string text =
      takes_pointers(context.program)
          ? "/* Computes the outputs from the inputs, whose memory is the caller's. */\n"
          : "/* Computes the outputs. Inputs are to be written before each run: it uses their "
            "memory for\n   other values. */\n";
  text += run_signature(context) + ";\n";
  if (context.program.states.empty()) return text;
  return text +
         "\n/* Forgets what runs have left for the next one. To be called before the first run, "
         "and before\n   the first of another sequence. */\nvoid " +
         context.name + "_reset(" + context.name + "_state *net);\n";
}

}  // namespace

std::string header_text(const FileContext& context) {
  const std::string big = upper(context.name);
  std::string text = first_line("a network as C99. Nothing else is needed.") + "#ifndef " + big +
                     "_H\n#define " + big + "_H\n\n#include <stdint.h>\n\n";
  text += "/* Bytes of RAM that a run takes, besides its stack. */\n#define " + big +
          "_ARENA_BYTES " + std::to_string(context.program.arena_bytes) + "\n\n";
  text += state_text(context);
  for (std::size_t i = 0; i < context.program.inputs.size(); ++i) {
    text += port_text(context, true, i);
  }
  for (std::size_t i = 0; i < context.program.outputs.size(); ++i) {
    text += port_text(context, false, i);
  }
  return text + functions_text(context) + "\n#endif\n";
}

std::string source_text(const FileContext& context) {
  std::string text = first_line("one function for each layer.") + "#include \"" + context.name +
                     ".h\"\n\n#include <string.h>\n\n#include \"" + context.name +
                     "_weights.h\"\n\n#if defined(__ARM_FEATURE_DSP)\n#include <arm_acle.h>\n"
                     "#endif\n\n";
  text +=
      "/* Called before each layer, with its index and name: for times, or for a look at the "
      "arena. */\n#ifndef NET_HOOK\n#define NET_HOOK(index, name) ((void)0)\n#endif\n\n"
      "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n";
  for (const EmbeddedText* each : with_needs(texts_of(context.program))) {
    text += std::string(body_of(*each)) + "\n";
  }
  for (std::size_t i = 0; i < context.program.layers.size(); ++i) {
    text += function_text(context, i);
  }
  text += run_signature(context) + " {\n";
  text += pointers_text(context.program, [](const std::string&, const std::string& name) {
    return "  net->" + name + " = " + name + ";\n";
  });
  for (std::size_t i = 0; i < context.program.layers.size(); ++i) {
    if (context.program.layers[i].layer.is_by_pixel) continue;
    std::string name = in_comment(context.program.layers[i].layer.name);
    for (char& each : name) each = each == '"' || each == '?' ? '_' : each;
    text += "  NET_HOOK(" + std::to_string(i) + ", \"" + name + "\");\n  " + context.name +
            "_layer_" + std::to_string(i) + "(net);\n";
  }
  if (context.program.layers.empty()) text += "  (void)net;\n";
  return text + keep_text(context.program) + "}\n" + reset_text(context);
}

std::string weights_header(const FileContext& context) {
  const std::string guard = upper(context.name) + "_WEIGHTS_H";
  std::string text = first_line("what lies in flash.") + "#ifndef " + guard + "\n#define " + guard +
                     "\n\n#include <stdint.h>\n\n";
  for (const PlacedLayer& each : context.program.layers) {
    for (const ConstantArray& array : each.layer.arrays)
      text += "extern " + declaration(array) + ";\n";
  }
  return text + "\n#endif\n";
}

std::string weights_source(const FileContext& context) {
  std::string text =
      first_line("what lies in flash.") + "#include \"" + context.name + "_weights.h\"\n\n";
  for (std::size_t i = 0; i < context.program.layers.size(); ++i) {
    const LayerFunction& layer = context.program.layers[i].layer;
    if (layer.arrays.empty()) continue;
    text += "/* Layer " + std::to_string(i) + ", '" + in_comment(layer.name) + "' */\n";
    for (const ConstantArray& array : layer.arrays) {
      text += declaration(array) + " = {\n" + array.elements + "};\n";
    }
    text += "\n";
  }
  return text;
}

std::string vectors_text(const FileContext& context,
                         const std::vector<std::vector<ir::Tensor>>& outputs) {
  const std::string big = upper(context.name);
  std::string text = first_line("outputs of Halftone's runtime, for inputs that main.c makes.") +
                     "#ifndef " + big + "_TEST_VECTORS_H\n#define " + big +
                     "_TEST_VECTORS_H\n\n#include <stdint.h>\n\n#define " + big + "_SEED " +
                     std::to_string(kSeed) + "u\n#define " + big + "_VECTORS " +
                     std::to_string(outputs.size()) + "\n";
  for (std::size_t i = 0; i < context.program.outputs.size(); ++i) {
    text += "\nstatic const " + std::string(context.program.outputs[i].c.type) + " expected_" +
            std::to_string(i) + "[" + big + "_VECTORS][" + port_macro(context, false, i) +
            "] = {\n";
    for (const auto& run : outputs) text += "  {\n" + literal(run[i]) + "  },\n";
    text += "};\n";
  }
  return text + "\n#endif\n";
}

}  // namespace halftone::export_c
