// SPDX-License-Identifier: Apache-2.0
// The files around a C program: its test, its build and its README.
#include <algorithm>
#include <vector>

#include "halftone/export_c/export_c.h"
#include "halftone/export_c/files.h"

namespace halftone::export_c {
namespace {

/// The expression that makes an element of the next number.
std::string element_of(const ArenaPort& port) {
  if (port.taken) {
    return "(int8_t)((int32_t)((next() >> 24) * " + std::to_string(port.taken->levels.size()) +
           "u >> 8) + " + std::to_string(port.taken->lowest) + ")";
  }
  if (port.c.type == "int8_t") return "(int8_t)(uint8_t)(next() >> 24)";
  if (port.type.is_dense(ir::ElementType::kBool)) return "(uint8_t)(next() >> 31)";
  if (port.c.type == "uint8_t") return "(uint8_t)(next() >> 24)";
  if (port.c.type == "int64_t") return "(int64_t)(next() >> 16)";
  if (port.c.type == "int32_t") return "(int32_t)(next() >> 16)";
  return "(float)((int32_t)(next() >> 8) - 8388608) / 8388608";
}

std::string size_of(const FileContext& context, const std::string& kind, std::size_t i) {
  return upper(context.name) + "_" + kind + "_" + std::to_string(i) + "_SIZE";
}

const std::vector<ArenaPort>& ports(const FileContext& context, const std::string& kind) {
  return kind == "input" ? context.program.inputs : context.program.outputs;
}

/// Of an input or output: where the test has it.
std::string address_of(const FileContext& context, const std::string& kind, std::size_t i) {
  const std::string& pointer = ports(context, kind)[i].pointer;
  return pointer.empty() ? context.name + "_" + kind + "_" + std::to_string(i) + "(&net)" : pointer;
}

/// The memory of inputs and outputs that a run takes pointers to.
std::string buffers_text(const FileContext& context) {
  std::string text;
  for (const std::string kind : {"input", "output"}) {
    for (std::size_t i = 0; i < ports(context, kind).size(); ++i) {
      const ArenaPort& port = ports(context, kind)[i];
      if (port.pointer.empty()) continue;
      text += "  static " + std::string(port.c.type) + " " + port.pointer + "[" +
              size_of(context, kind == "input" ? "INPUT" : "OUTPUT", i) + "];\n";
    }
  }
  return text;
}

std::string run_call(const FileContext& context) {
  std::string text = context.name + "_run(&net";
  for (const std::string kind : {"input", "output"}) {
    for (const ArenaPort& port : ports(context, kind)) {
      if (!port.pointer.empty()) text += ", " + port.pointer;
    }
  }
  return text + ")";
}

constexpr std::string_view kGenerator = R"(static uint32_t generator;

static uint32_t next(void) {
  generator ^= generator << 13;
  generator ^= generator >> 17;
  generator ^= generator << 5;
  return generator;
}

)";

constexpr std::string_view kDiffer =
    R"(/* Whether bits differ, but for those of numbers that are none. */
static int differ(const float *a, const float *b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const int are_none = a[i] != a[i] && b[i] != b[i];
    if (memcmp(a + i, b + i, sizeof *a) != 0 && !are_none) return 1;
  }
  return 0;
}

)";

bool has_floats(const std::vector<ArenaPort>& ports) {
  return std::ranges::any_of(ports, [](const ArenaPort& port) { return port.c.type == "float"; });
}

}  // namespace

std::string test_text(const FileContext& context) {
  const std::string& name = context.name;
  const std::string big = upper(name);
  std::string text = "/* " + std::string(kMark) +
                     ": runs the network and compares its outputs. */\n"
                     "#include <stdio.h>\n#include <string.h>\n\n#include \"" +
                     name + ".h\"\n#include \"test_vectors.h\"\n\n" + std::string(kGenerator) +
                     std::string(has_floats(context.program.outputs) ? kDiffer : "") +
                     "int main(void) {\n  static " + name + "_state net;\n" +
                     buffers_text(context) + "  int wrong = 0;\n" +
                     (context.program.states.empty() ? "" : "  " + name + "_reset(&net);\n") +
                     "  generator = " + big + "_SEED;\n  for (int v = 0; v < " + big +
                     "_VECTORS; ++v) {\n";
  for (std::size_t i = 0; i < context.program.inputs.size(); ++i) {
    text += "    for (int i = 0; i < " + size_of(context, "INPUT", i) + "; ++i) {\n      " +
            address_of(context, "input", i) + "[i] = " + element_of(context.program.inputs[i]) +
            ";\n    }\n";
  }
  text += "    " + run_call(context) + ";\n";
  for (std::size_t i = 0; i < context.program.outputs.size(); ++i) {
    const std::string index = std::to_string(i);
    const bool is_float = context.program.outputs[i].c.type == "float";
    text += "    if (" + std::string(is_float ? "differ(" : "memcmp(") +
            address_of(context, "output", i) + ", expected_" + index + "[v], sizeof expected_" +
            index + "[v]" + (is_float ? " / sizeof(float))" : ") != 0") +
            ") {\n      fprintf(stdout, \"run %d: output " + index +
            " differs\\n\", v);\n      ++wrong;\n    }\n";
  }
  text += "  }\n  fprintf(stdout, \"%d runs, %d wrong outputs\\n\", " + big +
          "_VECTORS, wrong);\n  return wrong != 0;\n}\n";
  return text;
}

std::string cmake_text(const FileContext& context) {
  const std::string& name = context.name;
  return "# " + std::string(kMark) +
         ": a library, and a program that tests it.\n"
         "cmake_minimum_required(VERSION 3.13)\nproject(" +
         name +
         " C)\nset(CMAKE_C_STANDARD 99)\n"
         "add_library(" +
         name + " STATIC " + name + ".c " + name +
         "_weights.c)\n"
         "target_include_directories(" +
         name +
         " PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
         "# Each operation of float32 is rounded by itself.\n"
         "target_compile_options(" +
         name +
         " PRIVATE -ffp-contract=off)\n"
         "add_executable(" +
         name +
         "_test main.c)\n"
         "target_link_libraries(" +
         name + "_test " + name +
         ")\n"
         "enable_testing()\nadd_test(NAME " +
         name + " COMMAND " + name + "_test)\n";
}

namespace {

std::string how_to_run(const FileContext& context) {
  const std::string& name = context.name;
  if (takes_pointers(context.program)) {
    return "call `" + name + "_run()` with pointers to inputs and outputs";
  }
  return "write to `" + name + "_input_0()`, call `" + name + "_run()`, read `" + name +
         "_output_0()`";
}

}  // namespace

std::string readme_text(const FileContext& context) {
  const std::string& name = context.name;
  const v0::CExport& sizes = context.sizes;
  return "<!-- " + std::string(kMark) + " -->\n# " + name +
         "\n\nA network as C99: " + std::to_string(context.program.layers.size()) + " layers, " +
         std::to_string(sizes.weight_bytes + sizes.table_bytes) +
         " bytes of weights and tables,\nabout " + std::to_string(sizes.code_bytes) +
         " bytes of code, " + std::to_string(sizes.arena_bytes) +
         " bytes of RAM and a small stack.\n\n    cc -std=c99 -O2 -ffp-contract=off " + name +
         ".c " + name + "_weights.c main.c -o test && ./test\n\n- `" + name +
         ".h`: " + how_to_run(context) + "\n- `" + name + ".c`: one function for each layer\n- `" +
         name +
         "_weights.c`: what lies in flash\n- `main.c`, `test_vectors.h`: compares outputs with "
         "those of Halftone\n" +
         (context.program.states.empty()
              ? ""
              : "- `" + name + "_reset()` forgets what runs have left for the next one\n") +
         "- define `NET_HOOK(index, name)` to be called before each layer\n";
}

}  // namespace halftone::export_c
