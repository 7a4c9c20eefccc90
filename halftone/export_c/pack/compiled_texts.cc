// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/pack/compiled_texts.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "halftone/base/error.h"

namespace halftone::export_c {
namespace {

/// A structure of pointers, in the order of CompiledTexts.
constexpr const char* kTable = R"(
struct texts {
  void (*bits)(const uint32_t *, uint32_t, const uint32_t *, uint32_t, uint32_t, uint32_t,
               uint32_t *);
  void (*signs)(const uint32_t *, uint32_t, uint32_t, const uint32_t *, uint32_t, int32_t *);
  uint32_t (*digits)(const uint32_t *, const uint32_t *, uint32_t, const int8_t *, uint32_t *);
  void (*planes)(const uint32_t *, uint32_t, uint32_t, uint32_t, const uint32_t *, uint32_t,
                 int32_t *);
  void (*digits_2)(const uint32_t *, uint32_t, int32_t, int32_t, const uint32_t *, uint32_t, int32_t,
                   int32_t *);
  void (*levels[6])(const int8_t *, const uint32_t *, uint32_t, uint32_t, int32_t *);
  void (*gather_bits)(const uint32_t *, uint32_t, uint32_t, const ht_window *, int32_t, int32_t,
                      uint32_t, uint32_t, uint32_t *);
  void (*gather_bytes)(const int8_t *, int8_t, const ht_window *, int32_t, int32_t, uint32_t,
                       uint32_t, int8_t *);
};
extern const struct texts texts;
const struct texts texts = {ht_bits, ht_signs, ht_digits, ht_planes, ht_digits_2,
  {ht_levels_1, ht_levels_1_1, ht_levels_2, ht_levels_4, ht_level_table, ht_bytes},
  ht_gather_bits, ht_gather_bytes};
)";

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string source() {
  std::string text = "#include <stdint.h>\n#include <string.h>\n";
  for (const char* name :
       {"prelude",      "multiply_add", "after",      "bits",        "signs",
        "digits",       "planes",       "digits_2",   "levels",      "columns_1",
        "scale_levels", "levels_1",     "levels_1_1", "levels_2",    "levels_4",
        "level_table",  "bytes",        "window",     "gather_bits", "gather_bytes"}) {
    text += file_text(std::filesystem::path(HALFTONE_C_TEXTS) / (std::string(name) + ".c"));
  }
  return text + kTable;
}

const CompiledTexts* compile(const std::string& compiler) {
  if (std::system(("command -v " + compiler + " > /dev/null").c_str()) != 0) return nullptr;
  std::string folder = (std::filesystem::temp_directory_path() / "halftone_texts.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) fail(ErrorKind::kIo, "no temporary folder");
  std::ofstream(folder + "/texts.c") << source();
  const std::string command =
      compiler +
      " -std=c99 -O2 -shared -fPIC -Wall -Wextra -Wconversion -pedantic -Werror"
      " -Wno-unused-function -fsanitize=undefined -fsanitize-undefined-trap-on-error -o " +
      folder + "/texts.so " + folder + "/texts.c";
  const int status = std::system(command.c_str());
  void* library = status == 0 ? dlopen((folder + "/texts.so").c_str(), RTLD_NOW) : nullptr;
  std::filesystem::remove_all(folder);
  if (library == nullptr) fail(ErrorKind::kInternal, compiler + " finds fault with the C texts");
  return static_cast<const CompiledTexts*>(dlsym(library, "texts"));
}

}  // namespace

const CompiledTexts* compiled_texts(const std::string& compiler) {
  static std::map<std::string, const CompiledTexts*> compiled;
  const auto found = compiled.find(compiler);
  if (found != compiled.end()) return found->second;
  return compiled[compiler] = compile(compiler);
}

}  // namespace halftone::export_c
