// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/file_uses.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <system_error>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"

namespace halftone {
namespace {

namespace fs = std::filesystem;

/// Whether Halftone reads a file where it is given the folder: of a model of Hugging Face, or IDX.
bool is_read_in_folders(const fs::path& file) {
  constexpr std::array<std::string_view, 6> kNames = {
      "config.json",           "generation_config.json", "tokenizer.json",
      "tokenizer_config.json", "chat_template.jinja",    "special_tokens_map.json"};
  const std::string name = file.filename().string();
  const bool is_weights = name.starts_with("model") &&
                          (name.ends_with(".safetensors") || name.ends_with(".index.json"));
  return is_weights || name.ends_with("ubyte") || name.ends_with("ubyte.gz") ||
         std::ranges::find(kNames, name) != kNames.end();
}

std::string in_lower_case(const fs::path& path) {
  std::string text = path.string();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_onnx(const fs::path& file) { return in_lower_case(file.extension()) == ".onnx"; }

/// Whether a file has the data of an ONNX model beside it, by the names that exporters give:
/// m.onnx.data, m.onnx_data, m.onnx.data_1.
bool has_data_of(const fs::path& model, const fs::path& file) {
  const std::string name = file.filename().string();
  const std::string stem = model.filename().string();
  return name.starts_with(stem + ".data") || name.starts_with(stem + "_data");
}

/// Where a path leads: links are followed to the end, also to a file that is not there yet.
fs::path destination(fs::path path) {
  constexpr int kMaxLinks = 40;  // the limit of Linux
  for (int i = 0; i < kMaxLinks; ++i) {
    path = full_path(path);
    if (!path.has_filename()) path = path.parent_path();
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(path.parent_path(), error);
    if (error) return path;  // writing it fails
    path = folder / path.filename();
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;
    path = folder / target;
  }
  fail(ErrorKind::kIo, path.string() + ": cannot write: too many links");
}

bool is_one_file(const fs::path& a, const fs::path& b) {
  std::error_code error;  // of a file that is not there
  return fs::equivalent(a, b, error) || destination(a) == destination(b);
}

/// Also two new files whose names differ in case only: some file systems make them one.
bool would_be_one_file(const fs::path& a, const fs::path& b) {
  if (is_one_file(a, b)) return true;
  std::error_code error;
  return !fs::exists(a, error) && !fs::exists(b, error) &&
         in_lower_case(destination(a)) == in_lower_case(destination(b));
}

/// Whether an ONNX model says that a file has its data. In such a model the other bytes are few;
/// it has the location as an entry of protobuf, key and value with their tags and lengths.
bool names_as_data(const fs::path& model, const fs::path& file) {
  std::error_code error;
  if (!is_onnx(model) || !fs::is_regular_file(file, error)) return false;
  const fs::path folder = destination(model).parent_path();
  const std::string location = destination(file).lexically_relative(folder).generic_string();
  constexpr std::size_t kMaxShort = 127;  // whose length takes one byte
  if (location.empty() || location.starts_with("..") || location.size() > kMaxShort) return false;
  const std::string entry =
      std::string("\x0A\x08location\x12") + static_cast<char>(location.size()) + location;
  const SharedBytes bytes = map_file(model);
  const std::string_view text(reinterpret_cast<const char*>(bytes.bytes.data()),
                              bytes.bytes.size());
  return text.find(entry) != std::string_view::npos;
}

}  // namespace

void FileUses::read(const std::string& name, const fs::path& path) {
  if (path.empty()) return;
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (!is_folder) read_.push_back({name, path});
  if (!is_folder && !is_onnx(path)) return;
  for (fs::directory_iterator entry(is_folder ? path : full_path(path).parent_path(), error), end;
       !error && entry != end; entry.increment(error)) {
    const fs::path& file = entry->path();
    if (is_folder ? is_read_in_folders(file) : has_data_of(path, file)) {
      read_.push_back({name, file});
    }
  }
}

void FileUses::read_samples(const std::string& name, const std::string& text) {
  read(name, text);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    read(name, part);
    if (const auto equals = part.find('='); equals != part.npos)
      read(name, part.substr(equals + 1));
    begin = end + 1;
  }
}

void FileUses::write(const std::string& name, const fs::path& path) {
  if (path.empty()) return;
  written_.push_back({name, path});
  if (is_onnx(path)) written_.push_back({name, path.string() + ".data"});
}

void FileUses::check() const {
  for (std::size_t i = 0; i < written_.size(); ++i) {
    const Use& output = written_[i];
    const auto refuse = [&](const std::string& use, const std::string& name) {
      fail(ErrorKind::kUsage, output.path.string() + ": is the file to " + use + " (" + name +
                                  ") and the file to write (" + output.name +
                                  "): name another file to write");
    };
    for (const Use& input : read_) {
      std::error_code error;
      if (!fs::exists(input.path, error)) continue;
      if (is_one_file(output.path, input.path) || names_as_data(input.path, output.path)) {
        refuse("read", input.name);
      }
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (would_be_one_file(output.path, written_[j].path)) refuse("write", written_[j].name);
    }
  }
}

void check_output_file(const fs::path& model, const fs::path& output) {
  FileUses uses;
  uses.read("model", model);
  uses.write("output", output);
  uses.check();
}

}  // namespace halftone
