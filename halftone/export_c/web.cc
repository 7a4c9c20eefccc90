// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/web.h"

#include <fmt/format.h>

#include <vector>

#include "halftone/export_c/export_c.h"

namespace halftone::export_c {
namespace {

std::string_view text_named(std::string_view name) { return find_text(web_texts(), name)->text; }

/// A string of JavaScript.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (code < ' ' || each == '<' || each == '"' || each == '\\') {
      result += fmt::format("\\u{:04x}", code);
    } else {
      result += each;
    }
  }
  return result + "\"";
}

std::string ports_text(const std::string& kind, const std::vector<ArenaPort>& ports) {
  std::string text = "HalftoneNet." + kind + " = [\n";
  for (const ArenaPort& port : ports) {
    text += fmt::format("  {{name: {}, type: \"{}\", shape: [{}], size: {}, offset: {}",
                        quoted(port.name), ir::to_string(port.type.encoding.element),
                        fmt::join(port.type.shape.dims(), ", "), port.type.shape.element_count(),
                        port.offset);
    if (port.codes) {
      text += fmt::format(", scale: {}, zero_point: {}", port.codes->scales.front(),
                          port.codes->zero_points.front());
    }
    text += "},\n";
  }
  return text + "];\n";
}

void replace(std::string& text, std::string_view key, std::string_view value) {
  for (std::size_t at = text.find(key); at != std::string::npos;
       at = text.find(key, at + value.size())) {
    text.replace(at, key.size(), value);
  }
}

constexpr std::string_view kMemoryFunctions = R"(
/* Compilers call these. They must not find their own loops to be such calls. */
__attribute__((no_builtin)) void *memcpy(void *to, const void *from, size_t count) {
  for (size_t i = 0; i < count; ++i) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

__attribute__((no_builtin)) void *memmove(void *to, const void *from, size_t count) {
  if ((const char *)to < (const char *)from) return memcpy(to, from, count);
  for (size_t i = count; i-- > 0;) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

__attribute__((no_builtin)) void *memset(void *to, int value, size_t count) {
  for (size_t i = 0; i < count; ++i) ((char *)to)[i] = (char)value;
  return to;
}
)";

}  // namespace

std::string module_source_text(const FileContext& context) {
  const std::string& name = context.name;
  return fmt::format(
             "#include \"{0}.h\"\n\n#include <string.h>\n\nstatic {0}_state net;\n\n"
             "void *arena(void) {{ return &net; }}\nvoid run(void) {{ {0}_run(&net); }}\n"
             "void reset(void) {{ {1}; }}\n",
             name, context.program.states.empty() ? "(void)net" : name + "_reset(&net)") +
         std::string(kMemoryFunctions);
}

std::string module_string_header() {
  return "#pragma once\n#include <stddef.h>\nvoid *memcpy(void *to, const void *from, size_t "
         "count);\nvoid *memmove(void *to, const void *from, size_t count);\nvoid *memset(void "
         "*to, "
         "int value, size_t count);\n";
}

std::string module_script(const FileContext& context) {
  const std::string& name = context.name;
  return fmt::format(
             "/* {0}: runs {1}.wasm, with the bits of Halftone's runtime.\n"
             " *   const net = await HalftoneNet.load(await (await "
             "fetch(\"{1}.wasm\")).arrayBuffer());\n"
             " *   const [output] = net.run([input]); */\n\"use strict\";\n\n",
             kMark, name) +
         std::string(text_named("net")) + "\n" + ports_text("inputs", context.program.inputs) +
         ports_text("outputs", context.program.outputs);
}

std::string live_script() {
  return std::string(text_named("sound")) + std::string(text_named("live"));
}
std::string_view live_style() { return text_named("style"); }

std::string page_text(const std::string& name, const std::string& module) {
  std::string text(text_named("index"));
  replace(text, "@mark@", kMark);
  replace(text, "@name@", name);
  replace(text, "@style@", live_style());
  replace(text, "@script@", live_script());
  replace(text, "@module@", module);
  return text;
}

}  // namespace halftone::export_c
