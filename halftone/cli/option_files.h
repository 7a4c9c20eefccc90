// SPDX-License-Identifier: Apache-2.0
// Options that take paths: each is declared as read or written, and no output may be an input.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace halftone::cli {

/// What the program does with the file of an option.
enum class FileRole { kNone, kRead, kWritten };

/// Rejects an empty text. `value` names it in the help.
CLI::Validator some_text(const std::string& value);
/// The same of a file or folder that the verb reads. Shells complete it by the name of the value:
/// FILE; FOLDER; SAMPLES, files or a folder of samples; HARDWARE or DEVICE, a name or a file;
/// empty: a text that may name a file.
CLI::Validator read_path(const std::string& value = "FILE");
/// The same of a file that the verb writes, and perhaps reads first, as a state; or of a FOLDER.
CLI::Validator written_path(const std::string& value = "FILE");

/// The role that the checks of an option declare.
FileRole file_role(CLI::Option& option);

/// Checks that no file that a verb writes is one that it reads, or another one that it writes.
/// Called before the work of every verb.
/// @throws Error kUsage as FileUses::check()
void check_option_files(CLI::App& verb);

/// The file of a measure of `report --overlay`: "a/b.json" becomes "a/b-bytes.json".
std::string overlay_file(const std::string& path, const std::string& measure);

}  // namespace halftone::cli
