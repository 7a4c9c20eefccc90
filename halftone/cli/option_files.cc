// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/option_files.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <utility>
#include <vector>

#include "halftone/base/file_uses.h"
#include "halftone/report/page/page.h"

namespace halftone::cli {
namespace {

constexpr const char* kReads = "reads";
constexpr const char* kWrites = "writes";

std::string refuse_empty(const std::string& text) {
  return text.empty() ? "expected a path, found an empty one" : "";
}

bool has_validator(CLI::Option& option, const char* name) {
  try {
    return option.get_validator(name) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

std::string with_extension(const std::string& path, const char* extension) {
  return std::filesystem::path(path).replace_extension(extension).string();
}

/// The files that an option writes: most write the one that they name.
std::vector<std::string> written_files(const CLI::App& verb, const CLI::Option& option,
                                       const std::string& path) {
  std::vector<std::string> files{path};
  const std::string name = option.get_name();
  if (name == "--overlay") {
    files.clear();
    for (const std::string_view measure : report::page::kOverlayMeasures) {
      files.push_back(overlay_file(path, std::string(measure)));
    }
  } else if (name == "--checkpoint") {
    for (const char* extension : {".csv", ".svg"}) files.push_back(with_extension(path, extension));
  } else if (name == "--state" && verb.get_name() == "eval") {
    const std::size_t texts = verb.get_option("--text")->count();
    for (std::size_t i = 2; i <= texts; ++i) files.push_back(path + "." + std::to_string(i));
  } else if (verb.get_name() == "run") {  // a folder: run_files() checks the files in it
    files.clear();
  }
  return files;
}

}  // namespace

CLI::Validator some_text(const std::string& value) { return {refuse_empty, value}; }

CLI::Validator read_path(const std::string& value) {
  const auto accept = [](const std::string&) { return std::string(); };
  if (value.empty()) return {accept, value, kReads};
  return {refuse_empty, value, kReads};
}

CLI::Validator written_path(const std::string& value) { return {refuse_empty, value, kWrites}; }

FileRole file_role(CLI::Option& option) {
  if (has_validator(option, kReads)) return FileRole::kRead;
  return has_validator(option, kWrites) ? FileRole::kWritten : FileRole::kNone;
}

void check_option_files(CLI::App& verb) {
  FileUses uses;
  for (CLI::Option* option : verb.get_options()) {
    const FileRole role = file_role(*option);
    if (role == FileRole::kNone) continue;
    for (const std::string& text : option->results()) {
      if (role == FileRole::kRead) uses.read_samples(option->get_name(), text);
      if (role == FileRole::kRead) continue;
      for (const std::string& file : written_files(verb, *option, text)) {
        uses.write(option->get_name(), file);
      }
    }
  }
  uses.check();
}

std::string overlay_file(const std::string& path, const std::string& measure) {
  std::filesystem::path file = path;
  file.replace_filename(file.stem().string() + "-" + measure + file.extension().string());
  return file.string();
}

}  // namespace halftone::cli
